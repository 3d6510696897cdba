import assert from "node:assert/strict";
import { closeSync, openSync, readdirSync, truncateSync } from "node:fs";
import { test } from "node:test";
import { bytes } from "../../../lib/core/units.ts";
import { readBounded } from "../../../lib/native/bounded_file.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const LARGER = { name: "FileTooLarge", message: "it is larger than 3 B" };

test("readBounded() gives a file of just as much as it takes, by path and by descriptor", () => {
  using folder = temporaryFolder();
  const path = folder.write("a", "abc");
  assert.deepEqual(readBounded(path, bytes(3)), new TextEncoder().encode("abc"));
  const descriptor = openSync(path, "r");
  try {
    assert.deepEqual(readBounded(descriptor, bytes(3)), new TextEncoder().encode("abc"));
  } finally {
    closeSync(descriptor);
  }
});

test("readBounded() refuses a larger file by its size alone, and one without a size when it has seen too much", () => {
  using folder = temporaryFolder();
  const path = folder.write("a", "");
  truncateSync(path, 1024 ** 4);
  assert.throws(() => readBounded(path, bytes(3)), LARGER);
  assert.throws(() => readBounded("/dev/zero", bytes(3)), LARGER);
});

test("readBounded() leaves no descriptor open when it refuses", () => {
  const open = () => readdirSync("/proc/self/fd").length;
  const before = open();
  for (let round = 0; round < 20; round++) assert.throws(() => readBounded("/dev/zero", bytes(3)), LARGER);
  assert.ok(open() < before + 20);
});

test("readBounded() reads files of the kernel, which say that they are empty", () => {
  assert.match(new TextDecoder().decode(readBounded("/proc/self/stat", bytes(4096))), /^\d+ \(/);
});
