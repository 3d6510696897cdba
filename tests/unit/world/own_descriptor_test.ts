import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { findOwnDescriptor } from "../../../lib/world/own_descriptor.ts";
import { temporaryFolder } from "../../support/temporary.ts";

test("findOwnDescriptor() knows every name of a descriptor of ours", () => {
  const names = ["/dev/stdout", "/dev/stderr", "/dev/fd/7", "/proc/self/fd/8", `/proc/${process.pid}/fd/9`];

  assert.deepEqual(names.map(findOwnDescriptor), [1, 2, 7, 8, 9]);
});

test("findOwnDescriptor() takes nothing else for one", () => {
  using folder = temporaryFolder();
  symlinkSync("/dev/stdout", `${folder.path}/link`);
  const others = [
    "/dev/null",
    "/dev/1",
    "/dev/shm/1",
    "/dev/toString",
    "/proc/1/fd/1",
    "/proc/self/fd/x",
    "1",
  ];

  assert.deepEqual(
    [...others, "", `${folder.path}/link`, `${folder.path}/none/1`].map(findOwnDescriptor),
    Array(others.length + 3).fill(undefined),
  );
});
