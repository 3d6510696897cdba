import assert from "node:assert/strict";
import { test } from "node:test";
import { readNotes } from "../../../lib/render/help_notes.ts";

test("readNotes() takes statuses for rows, whose texts may go on in further lines", () => {
  assert.deepEqual(readNotes("Exit status: its own;\n  10   left memory;\n       or not\n  3    unknown"), [{
    about: "exit status",
    blocks: [
      { kind: "text", text: "its own;" },
      { kind: "rows", rows: [{ term: "10", text: "left memory; or not" }, { term: "3", text: "unknown" }] },
    ],
  }]);
});

test("readNotes() keeps examples as they stand", () => {
  assert.deepEqual(readNotes("Examples:\n  gpuctl a     one\n  gpuctl b"), [
    { about: "examples", blocks: [{ kind: "lines", lines: ["gpuctl a     one", "gpuctl b"] }] },
  ]);
});

test("readNotes() ends a paragraph at a blank line, after what is indented and before a heading", () => {
  const text =
    "Rules:\n  [[rule]]\n  a = 1   b\nOthers are\nleft alone.\nExit status: 0 fine\n\nWhat stays: pids,\n  times.";
  assert.deepEqual(readNotes(text), [
    {
      about: "other",
      blocks: [{ kind: "text", text: "Rules:" }, { kind: "lines", lines: ["[[rule]]", "a = 1   b"] }],
    },
    { about: "other", blocks: [{ kind: "text", text: "Others are left alone." }] },
    { about: "exit status", blocks: [{ kind: "text", text: "0 fine" }] },
    { about: "other", blocks: [{ kind: "text", text: "What stays: pids, times." }] },
  ]);
});

test("readNotes() finds nothing in nothing", () => {
  assert.deepEqual(readNotes(""), []);
});
