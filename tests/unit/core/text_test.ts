import { execFileSync } from "node:child_process";
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  nearest,
  plural,
  printable,
  quoteArguments,
  splitArguments,
  truncate,
} from "../../../lib/core/text.ts";

test("printable() shows what could drive a terminal, and leaves readable text alone", () => {
  const shown: readonly [string, string][] = [
    ["python train.py --lr 0.1", "python train.py --lr 0.1"],
    ["naïve 訓練 🦊", "naïve 訓練 🦊"],
    ["\x1b[2J\x07", "\\u{1b}[2J\\u{7}"],
    ["a\nb\rc\td", "a\\u{a}b\\u{d}c\\u{9}d"],
    ["8-bit CSI \x9b1m", "8-bit CSI \\u{9b}1m"],
    ["right\u202eleft \u200b\ufeff", "right\\u{202e}left \\u{200b}\\u{feff}"],
    ["line\u2028 paragraph\u2029", "line\\u{2028} paragraph\\u{2029}"],
    ["half \ud800 pair", "half \\u{d800} pair"],
    ["tag \u{e0041}", "tag \\u{e0041}"],
  ];
  assert.deepEqual(shown.map(([text]) => printable(text)), shown.map(([, safe]) => safe));
});

test("truncate() never gives more characters than asked for", () => {
  const cut = [0, 1, 2, 4, 5].map((width) => truncate("abcde", width));
  assert.deepEqual(cut, ["", "…", "a…", "abc…", "abcde"]);
  assert.equal(truncate("🦊🦊🦊", 2), "🦊…");
  assert.equal(truncate("abc", -1), "");
  assert.equal(truncate("", 0), "");
});

const LINES: readonly [readonly string[], string][] = [
  [[], ""],
  [[""], "''"],
  [["python", "train.py", "--lr=0.1"], "python train.py --lr=0.1"],
  [
    ["python", "-c", "from m import main; main(tracker_fd=5)"],
    "python -c 'from m import main; main(tracker_fd=5)'",
  ],
  [["it's", 'a "b" \\c', "$HOME", "*"], `'it'\\''s' 'a "b" \\c' '$HOME' '*'`],
  [["LEVEL=1", "LEVEL=1"], "'LEVEL=1' LEVEL=1"],
  [["a\nb", "\t", " "], "'a\nb' '\t' ' '"],
  [["vllm::worker 訓練"], "'vllm::worker 訓練'"],
];

test("quoteArguments() quotes what a shell would not leave alone", () => {
  assert.deepEqual(LINES.map(([words]) => quoteArguments(words)), LINES.map(([, line]) => line));
});

test("quoteArguments() is read back by a shell as the same arguments", () => {
  for (const [words, line] of LINES) {
    const script = `set -- ${line}\nprintf '%s\\0' "$#" "$@"`;
    const [count, ...read] = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(
      0,
      -1,
    );
    assert.deepEqual({ count, read }, { count: String(words.length), read: words }, line);
  }
});

test("splitArguments() reads every way of quoting as a shell does", () => {
  for (
    const line of [
      `a'b'"c"\\d`,
      `"x \\"y\\" \\$z \\q"`,
      "  one   two\tthree\n",
      `\\ `,
      `""''`,
      `a\\\nb \\\n c`,
      `"a\\\nb"`,
    ]
  ) {
    const script = `set -- ${line}\nprintf '%s\\0' "$@"`;
    const read = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
    assert.deepEqual(splitArguments(line), read, line);
  }
});

test("splitArguments() refuses a line that has no end", () => {
  for (const [line, place] of [["a 'b", 3], [`a "b`, 3], ["a\\", 2]] as const) {
    assert.throws(() => splitArguments(line), {
      name: "SyntaxError",
      message: `Cannot split arguments: what starts at character ${place} has no end`,
    });
  }
});

test("plural() takes the plural for every count but one", () => {
  assert.deepEqual([0, 1, 2].map((count) => plural(count, "process", "processes")), [
    "0 processes",
    "1 process",
    "2 processes",
  ]);
  assert.equal(plural(3, "GPU"), "3 GPUs");
});

test("nearest() suggests what was meant and stays silent where nothing was near", () => {
  const commands = ["snapshot", "diff", "doctor", "watch"];
  assert.equal(nearest("snapshto", commands), "snapshot");
  assert.equal(nearest("dif", commands), "diff");
  assert.equal(nearest("gup", ["gpu"]), "gpu");
  assert.equal(nearest("kubectl", commands), undefined);
  assert.equal(nearest("xy", ["ab"]), undefined);
  assert.equal(nearest("", ["a"]), undefined);
  assert.equal(nearest("diff", []), undefined);
});

test("nearest() compares no word that is far too long for it", () => {
  const startedAt = performance.now();
  assert.equal(nearest("x".repeat(5_000_000), ["root", "daemon", "alice"]), undefined);
  // Comparing them letter by letter takes a minute.
  assert.ok(performance.now() - startedAt < 1000);
});
