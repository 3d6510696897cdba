import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import { readIsContainer } from "../../../lib/proc/in_container.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary.ts";

const FIRST = "pid:[4026531836]";

/** A root directory with a /proc in it, as the machine itself has it. */
function machine(namespace = FIRST, cgroup = "0::/user.slice/user-0.slice/session-1.scope"): TemporaryFolder {
  const folder = temporaryFolder();
  folder.write("proc/self/cgroup", `${cgroup}\n`);
  mkdirSync(join(folder.path, "proc/self/ns"));
  symlinkSync(namespace, join(folder.path, "proc/self/ns/pid"));
  mkdirSync(join(folder.path, "proc/1"));
  symlinkSync("../..", join(folder.path, "proc/1/root"));
  return folder;
}

test("readIsContainer() knows the machine itself", () => {
  using folder = machine();
  assert.deepEqual(readIsContainer(folder.path), known(false));
});

test("readIsContainer() knows a PID namespace that does not show the whole machine", () => {
  using folder = machine("pid:[4026532777]");
  assert.deepEqual(readIsContainer(folder.path), known(true));
});

for (const mark of [".dockerenv", "run/.containerenv", "run/systemd/container"]) {
  test(`readIsContainer() knows a container with the machine's PID namespace by /${mark}`, () => {
    using folder = machine();
    folder.write(mark, "");
    assert.deepEqual(readIsContainer(folder.path), known(true));
  });
}

test("readIsContainer() knows such a container by its control group, in any hierarchy", () => {
  const docker = `/docker/${"a1".repeat(32)}`;
  for (const cgroup of [`0::${docker}`, `12:devices:${docker}\n1:name=systemd:/`]) {
    using folder = machine(FIRST, cgroup);
    assert.deepEqual(readIsContainer(folder.path), known(true));
  }
});

test("readIsContainer() knows such a container by the root of process 1", () => {
  using folder = machine();
  rmSync(join(folder.path, "proc/1/root"));
  symlinkSync("/", join(folder.path, "proc/1/root"));
  assert.deepEqual(readIsContainer(folder.path), known(true));
});

test("readIsContainer() does not say no where it cannot read its namespace", () => {
  using folder = temporaryFolder();
  assert.deepEqual(readIsContainer(folder.path).ok, false);
  folder.write("proc/self/cgroup", "no group at all\n");
  const reading = readIsContainer(folder.path);
  assert.deepEqual(reading, absent("exited"));
});
