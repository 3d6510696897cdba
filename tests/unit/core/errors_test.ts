import { test } from "node:test";
import assert from "node:assert/strict";
import { errnoOf, EXIT, GpuctlError, messageOf, worstEnding } from "../../../lib/core/errors.ts";

test("EXIT gives each name its own status, and leaves 1 to bugs", () => {
  const statuses = Object.values(EXIT);
  assert.equal(new Set(statuses).size, statuses.length);
  assert.deepEqual(Object.entries(EXIT).filter(([, status]) => status === 1), [["bug", 1]]);
});

test("worstEnding() is not ok when nothing was checked", () => {
  assert.equal(worstEnding([]), "unavailable");
});

test("worstEnding() knows the place of every ending", () => {
  const endings = ["bug", "denied", "finding", "ok", "partial", "refused", "unavailable", "usage"] as const;
  assert.deepEqual(Object.keys(EXIT).toSorted(), endings);
  for (const ending of endings) assert.equal(worstEnding([ending, "ok"]), ending);
});

test("worstEnding() lets a proven finding outweigh what could not be read", () => {
  assert.equal(worstEnding(["ok", "unavailable", "finding"]), "finding");
  assert.equal(worstEnding(["ok", "unavailable"]), "unavailable");
  assert.equal(worstEnding(["finding", "partial"]), "partial");
  assert.equal(worstEnding(["ok", "ok"]), "ok");
});

test("GpuctlError keeps its failure, hint and cause apart", () => {
  const cause = new SyntaxError("inner");
  const error = new GpuctlError("unavailable", "Cannot read a.json: no such file", {
    hint: "try another",
    cause,
  });
  assert.deepEqual(
    {
      name: error.name,
      failure: error.failure,
      message: error.message,
      hint: error.hint,
      cause: error.cause,
    },
    {
      name: "GpuctlError",
      failure: "unavailable",
      message: "Cannot read a.json: no such file",
      hint: "try another",
      cause,
    },
  );
  assert.equal("cause" in new GpuctlError("usage", "plain"), false);
  assert.equal(error.status, undefined);
  assert.equal(new GpuctlError("unavailable", "no such command", { status: 127 }).status, 127);
});

test("messageOf() finds words in whatever was thrown", () => {
  assert.deepEqual([new Error("broken"), "text", 7, undefined, null].map(messageOf), [
    "broken",
    "text",
    "7",
    "undefined",
    "null",
  ]);
});

test("errnoOf() gives the name of a system call's error and of nothing else", () => {
  const missing = Object.assign(new Error("no such file"), { code: "ENOENT" });
  const numbered = Object.assign(new Error("other"), { code: 2 });
  assert.deepEqual([missing, numbered, new Error("plain"), { code: "ENOENT" }, undefined].map(errnoOf), [
    "ENOENT",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
