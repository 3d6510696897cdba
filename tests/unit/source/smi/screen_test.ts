/** Recordings of screens: what the screen showed at last is what the text says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSavedText, parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { isRecording, replayRecording } from "../../../../lib/source/smi/screen.ts";
import { readSmiFixture } from "../../../support/smi_fixtures.ts";
import { summarise } from "../../../support/smi_summary.ts";

const TABLE = readSmiFixture("table_610.txt");
const ENTERED = "\x1b[?1049h\x1b[22;0;0t\x1b[1;24r\x1b(B\x1b[m\x1b[4l\x1b[?7h\x1b[H\x1b[2J";

const RECORDED =
  "text | !not-reported (a recording of a screen) | The text is a recording of a screen: what was drawn over is not in it";

function said(text: string) {
  const { takenAt: _, ...rest } = summarise(parseSavedText(text));
  return rest;
}

function eachRun(change: (count: number) => string): string {
  return TABLE.replaceAll(/ {6,}/g, ({ length }) => change(length));
}

const RECORDINGS: Readonly<Record<string, string>> = {
  "with movements for its blanks": eachRun((count) => `\x1b[${count}C`),
  "with blanks erased and passed over": eachRun((count) => `\x1b[${count}X\x1b[${count}C`),
  "with a repeated blank": eachRun((count) => ` \x1b[${count - 1}b`),
  "with a corrected typing error": TABLE.replace("MiB", "Mob\b\biB"),
  "as a program draws it": ENTERED +
    TABLE.split("\n").map((line, row) => `\x1b[${row + 1};1H${line}\x1b[K`).join(""),
  "in 8-bit control characters": eachRun((count) => `\x9b${count}C`),
};

for (const [how, recording] of Object.entries(RECORDINGS)) {
  test(`parseSavedText() reads a table ${how} as the table it was, and says that it is a recording`, () => {
    const table = said(TABLE);
    assert.deepEqual(said(recording), { ...table, problems: [...table.problems ?? [], RECORDED] });
  });
}

test("parseSavedText() does not read the first look of a screen where a later one was drawn over it", () => {
  const panel = "|  No running processes found       ";
  const row = "|    0   N/A  N/A   42      C   a   ";
  const first = [panel, ""].join("\r\n");
  const { gpus } = said(`${ENTERED}${first}\x1b[1;1H${row}5MiB |\x1b[24;80H`);
  assert.deepEqual(gpus?.[0]?.contexts, ["42 compute 5 MiB a"]);
});

test("parseSmiText() lets no process draw over another, nor hide those between two of its names", () => {
  const header = "pid, process_name, used_gpu_memory [MiB]";
  const names = [["a\x1b[1A\x1b[2K", "b"], ["a\x1b[2J\x1b[H", "b"], ["a\x1b[L", "b"], ["a\x1b]", "b\x07"]];
  for (const [first = "", last = ""] of names) {
    const rows = [`1, ${first}, 5 MiB`, "2, other, 6 MiB", `3, ${last}, 7 MiB`];
    const { gpus } = summarise(parseSmiText(`${[header, ...rows].join("\n")}\n`));
    assert.deepEqual(gpus?.[0]?.contexts?.map((context) => context.split(" ")[0]), ["1", "2", "3"]);
  }
});

test("replayRecording() does what a terminal does", () => {
  const lines: readonly (readonly [string, string])[] = [
    ["abc\r\x1b[2Cx", "abx"],
    ["abc\x1b[2Dx\x1b[1Ay", "axy"],
    ["abcdef\x1b[3G\x1b[2P", "abef"],
    ["abc\x1b[1G\x1b[2@", "  abc"],
    ["abc\x1b[2G\x1b[K", "a"],
    ["abc\x1b[2G\x1b[1K", "  c"],
    ["abc\x1b[2K", ""],
    ["abcdefghij\x1b[Zx\x1b[2Zy", "ybcdefghxj"],
    ["a\nb\nc\x1b[1;1H\x1b[1B\x1b[Jx", "a\nx\n"],
    ["a\tb\b\x1b[Ex", "a       b\nx"],
    ["one\x1b[2J\x1b[Htwo", "one\ntwo"],
    ["one\x1b[H\x1b[Jtwo", "one\ntwo"],
    ["\x1b[2;3Hx\x1b[1dy", "   y\n  x"],
    ["\x1b[?1049h12\n3\x1b[m", "\n12\n  3"],
    ["\x1b]0;title\x07\x1b[31ma\x1b[0m\b", "a"],
  ];
  assert.deepEqual(lines.map(([recording]) => replayRecording(recording)), lines.map(([, shown]) => shown));
});

test("replayRecording() refuses a screen of which a part scrolls", () => {
  for (const scroll of ["\x1b[L", "\x1b[2M", "\x1b[S", "\x1b[T", "\x1bM"]) {
    assert.throws(() => parseSavedText(`${TABLE}${scroll}`), {
      name: "SyntaxError",
      message:
        "Cannot read the text as output of nvidia-smi: it is a recording of a screen that scrolls; save what nvidia-smi itself prints",
    });
  }
});

test("replayRecording() refuses a screen larger than any, however short its recording", () => {
  const pieces = [
    ["\x1b[2000b", "longer"],
    ["\x1b[2000@", "wider"],
    ["\x1b[2000Cx\n", "longer"],
    ["\x1b[2J\x1b[900;1Hx", "longer"],
    ["ab\b", "wider"],
  ] as const;
  for (const [piece, how] of pieces) {
    assert.throws(() => replayRecording(`a${piece.repeat(20_000)}`), {
      name: "SyntaxError",
      message:
        `Cannot read the text as output of nvidia-smi: it is a recording of a screen that is ${how} than any; save what nvidia-smi itself prints`,
    });
  }
});

test("isRecording() is false of colours and titles", () => {
  assert.deepEqual(
    ["\x1b[1;31m\x1b[Ka\x1b[m\x1b[K", "\x1b]0;a\x07", "\x1b[?2004h", "a\r\n"].map(isRecording),
    [
      false,
      false,
      false,
      false,
    ],
  );
});
