import { test } from "node:test";
import assert from "node:assert/strict";
import { blanksFor, fit, widthOf, wrap } from "../../../lib/render/layout.ts";

test("widthOf() counts columns, not characters", () => {
  assert.deepEqual(["abc", "訓練", "é", "e\u0301", "🦊"].map(widthOf), [3, 4, 1, 1, 2]);
});

test("fit() cuts by columns and never gives more than asked for", () => {
  assert.deepEqual([0, 1, 3, 5, 6].map((width) => fit("abcdef", width)), ["", "…", "ab…", "abcd…", "abcdef"]);
  assert.equal(fit("訓練中", 6), "訓練中");
  assert.equal(fit("訓練中", 5), "訓練…");
  assert.equal(fit("訓練中", 4), "訓…");
  assert.equal(fit("", 0), "");
});

test("fit() does not measure the megabytes behind the cut", () => {
  assert.equal(fit("x".repeat(50_000_000), 4), "xxx…");
});

test("blanksFor() gives what is missing, and nothing for a text that is too wide", () => {
  assert.deepEqual([blanksFor("訓", 4), blanksFor("abc", 2)], ["  ", ""]);
});

test("wrap() breaks at blanks and indents as far as its label", () => {
  assert.deepEqual(wrap("one two three four", { width: 12, label: "why: " }), [
    "why: one two",
    "     three",
    "     four",
  ]);
});

test("wrap() keeps a word whole that is wider than the line", () => {
  assert.deepEqual(wrap("run gpuctl-clean-zombies now", { width: 10, label: "" }), [
    "run",
    "gpuctl-clean-zombies",
    "now",
  ]);
});

test("wrap() leaves no empty line and no blank at a line's end", () => {
  assert.deepEqual(wrap(" a  b ", { width: 3, label: "" }), ["a b"]);
  assert.deepEqual(wrap("   ", { width: 1, label: "why: " }), ["why:"]);
});

test("wrap() breaks nothing without a width", () => {
  const text = "word ".repeat(100).trim();
  assert.deepEqual(wrap(text, { width: undefined, label: "- " }), [`- ${text}`]);
});
