import assert from "node:assert/strict";
import { test } from "node:test";
import { renderHelpNotes } from "../../../lib/render/help_text.ts";

test("renderHelpNotes() joins the lines of a paragraph and breaks them where the width ends", () => {
  assert.equal(renderHelpNotes("one two\nthree four\n\nfive", 14), "\none two three\nfour\n\nfive\n");
});

test("renderHelpNotes() keeps rows in columns, and what goes on below itself", () => {
  assert.equal(
    renderHelpNotes("Exit status: its own;\n  3    not all of it was seen\n  124  time", 20),
    "\nExit status: its\nown;\n  3    not all of it\n       was seen\n  124  time\n",
  );
});

test("renderHelpNotes() never breaks an example: what it does goes below it where both do not fit", () => {
  const typed = "gpuctl watch --until-alert --for 10m";
  assert.equal(
    renderHelpNotes(`Examples:\n  ${typed}  status 10 if anything was wrong`, 50),
    `\nExamples:\n  ${typed}\n      status 10 if anything was wrong\n`,
  );
  assert.equal(renderHelpNotes(`Examples:\n  ${typed}`, 10), `\nExamples:\n  ${typed}\n`);
});

test("renderHelpNotes() has nothing to say of nothing", () => {
  assert.equal(renderHelpNotes("\n", 80), "");
});
