import assert from "node:assert/strict";
import { test } from "node:test";
import { cannotRead, cannotWrite, failureOf, stateOf } from "../../../lib/core/file_errors.ts";

function refusal(code: string, words: string): Error {
  return Object.assign(new Error(`${code}: ${words}, open '/x'`), { code });
}

test("stateOf() says what is the matter without the call and the path, whatever the runtime calls it", () => {
  const states: readonly [Error, string][] = [
    [refusal("EACCES", "permission denied"), "permission denied"],
    [refusal("EPERM", "operation not permitted"), "permission denied"],
    [refusal("ENOENT", "no such file or directory"), "there is no such file"],
    [refusal("EISDIR", "illegal operation on a directory"), "it is a directory"],
    [refusal("ENOSPC", "no space left on device"), "no space is left on the device"],
    [refusal("EIO", "i/o error"), "i/o error (EIO)"],
    [new Error("it is larger than 64 MiB"), "it is larger than 64 MiB"],
  ];
  for (const [error, state] of states) assert.equal(stateOf(error), state);
});

test("failureOf() tells want of permission from everything else", () => {
  assert.deepEqual(
    ["EACCES", "EPERM", "EROFS", "ENOENT", "EIO"].map((code) => failureOf(refusal(code, "x"))),
    ["denied", "denied", "denied", "unavailable", "unavailable"],
  );
  assert.equal(failureOf(new Error("it is a directory")), "unavailable");
});

test("cannotRead() says which file, and what it is to gpuctl", () => {
  const cause = refusal("EACCES", "permission denied");
  const error = cannotRead("/a\nb", cause, { as: "the rules", hint: "try" });
  assert.deepEqual([error.failure, error.message, error.hint, error.cause], [
    "denied",
    "Cannot read the rules /a\\u{a}b: permission denied",
    "try",
    cause,
  ]);
});

test("cannotWrite() takes a missing file for a missing directory: the file itself need not be there", () => {
  const { failure, message } = cannotWrite("/none/x", refusal("ENOENT", "no such file or directory"));
  assert.deepEqual([failure, message], ["unavailable", "Cannot write /none/x: there is no such directory"]);
});
