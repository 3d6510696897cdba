/** What terminals, mail programs and people do to a text must not change what it says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { readSmiFixture } from "../../../support/smi_fixtures.ts";
import { summarise } from "../../../support/smi_summary.ts";

const TABLES = ["idle_table.txt", "table_590_mig.txt", "table_610.txt", "table_450.txt", "table_525_err.txt"];

function eachLine(change: (line: string) => string): (text: string) => string {
  return (text) => text.split("\n").map(change).join("\n");
}

function foldAt(width: number): (text: string) => string {
  return eachLine((line) => line.match(new RegExp(`.{1,${width}}`, "g"))?.join("\n") ?? "");
}

/** Breaks rows at blanks as mail programs do, and leaves rulers, which have none, as they are. */
function reflow(line: string): string {
  if (!line.startsWith("|") || line.startsWith("|=") || line.startsWith("|-")) return line;
  const words = line.split(/\s+/);
  const half = Math.ceil(words.length / 2);
  return `${words.slice(0, half).join(" ")}\n${words.slice(half).join(" ")}`;
}

const PASTES: Readonly<Record<string, (text: string) => string>> = {
  "with quote marks": eachLine((line) => `> ${line}`),
  "with quote marks of two": eachLine((line) => `> > ${line}`),
  "indented": eachLine((line) => `    ${line}`),
  "with tabs for its blanks": (text) => text.replaceAll(/ {2,}/g, "\t"),
  "with its blanks collapsed": (text) => text.replaceAll(/ {2,}/g, " "),
  "with no-break spaces": (text) => text.replaceAll(" ", "\u00a0"),
  "with carriage returns": (text) => text.replaceAll("\n", "\r\n"),
  "with colours": eachLine((line) => `\x1b[1m${line}\x1b[0m`),
  "with a byte order mark": (text) => `\ufeff${text}`,
  "in UTF-16 read as UTF-8": (text) => `\ufffd\ufffd${[...text].map((letter) => `${letter}\0`).join("")}`,
  "without blanks at line ends": eachLine((line) => line.trimEnd()),
  "between other lines": (text) =>
    `user@host:~$ nvidia-smi\n${text}\n\nuser@host:~$ echo "| done, 500MiB |"\n| done, 500MiB |x\n`,
  "folded by a terminal of 80 columns": foldAt(80),
  "folded by a terminal of 60 columns": foldAt(60),
  "folded by a terminal of 42 columns": foldAt(42),
  "folded, then cut at the blanks": (text) => eachLine((line) => line.trimEnd())(foldAt(80)(text)),
  "broken between words by a mail program": eachLine(reflow),
};

for (const file of TABLES) {
  const text = readSmiFixture(file);
  const { takenAt: _, ...expected } = summarise(parseSmiText(text));
  for (const [how, paste] of Object.entries(PASTES)) {
    test(`parseSmiText() reads ${file} ${how} as the table it was`, () => {
      const { takenAt: __, ...reading } = summarise(parseSmiText(paste(text)));
      assert.deepEqual(reading, expected);
    });
  }
}

test("parseSmiText() reads a row that a fold has cut where no ruler shows the width as a problem, and invents no number", () => {
  const text = "|    0   N/A  N/A   2695172      C   python                         16\n1709MiB |\n";
  const rows = `|    0   N/A  N/A   2695173      C   python                        871MiB |\n${text}`;
  assert.deepEqual(summarise(parseSmiText(rows)), {
    kind: "table",
    listing: "incomplete",
    driver: "",
    gpus: [{
      gpu: "0 index:0",
      values: "usedIncludesReserve !not-reported (the text does not name the driver's version)",
      list: "incomplete: !implausible (1 row could not be read)",
      contexts: ["2695173 compute 871 MiB python"],
    }],
    problems: [
      'line 2 | !implausible (|    0   N/A  N/A   2695172      C   python                         16 1709MiB |) | Cannot read line 2: expected a row that is not cut off: current value is "|    0   N/A  N/A   2695172      C   python                         16 1709MiB |"',
    ],
  });
});

test("parseSmiText() reads rows that are cut off at the right as problems", () => {
  const text = readSmiFixture("table_610.txt").split("\n").map((line) => line.slice(0, 60)).join("\n");
  const { gpus, problems } = summarise(parseSmiText(text));
  assert.deepEqual(gpus, []);
  assert.equal(problems?.filter((line) => line.includes("expected a row that is not cut off")).length, 12);
});

test("parseSmiText() reads the last of several tables and says so", () => {
  const tables = ["collapsed_470_idle.txt", "collapsed_470_job.txt", "collapsed_470_after.txt"].map(
    readSmiFixture,
  );
  const text = tables.join("Then the array was deleted:\nIn [6]: del b\n");
  const last = summarise(parseSmiText(tables[2] ?? ""));
  assert.deepEqual(summarise(parseSmiText(text)), {
    ...last,
    problems: [
      "text | !not-reported (table) | The text holds 3 outputs of one kind; the last one, from line 69, was read",
      ...last.problems ?? [],
    ],
  });
});

test("parseSmiText() refuses a text larger than any output before it looks at it", () => {
  assert.throws(() => parseSmiText("x".repeat(100 * 1024 ** 2)), {
    name: "SyntaxError",
    message:
      "Cannot read the text as output of nvidia-smi as it must have at most 16777216 characters: it has 104857600",
  });
});

test("parseSmiText() refuses more lines than any output has", () => {
  assert.throws(() => parseSmiText("\n".repeat(1024 ** 2)), {
    name: "SyntaxError",
    message:
      "Cannot read the text as output of nvidia-smi as it must have at most 1048576 lines: it has more",
  });
});

test("parseSmiText() says that a line too long for nvidia-smi was not read", () => {
  const text = `pid, used_gpu_memory [MiB]\n1234, 5 MiB\n${"x,".repeat(9000)}\n`;
  assert.deepEqual(summarise(parseSmiText(text)).problems, [
    "text | !implausible | 1 line is longer than any of nvidia-smi and not read",
    "GPUs | !not-reported | The text does not say on which GPU its processes are",
  ]);
});
