import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readlinkSync, rmSync } from "node:fs";
import process from "node:process";
import { pid, uid } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { readReader } from "../../../lib/proc/reader.ts";
import { asNobody, NEEDS_ROOT } from "../../support/as_nobody.ts";
import { procTree } from "../../support/proc_tree.ts";

test("readReader() says where this program stands", NEEDS_ROOT, () => {
  const reader = readReader("/proc", { helpers: [pid(4_000_000)] });
  const pidNamespace = readlinkSync("/proc/self/ns/pid");
  const { ancestorPids, ...rest } = reader;
  assert.deepEqual(rest, {
    pid: pid(process.pid),
    uid: uid(0),
    isRoot: true,
    mayTrace: /^CapEff:\t[0-9a-f]*[89a-f][0-9a-f]{4}$/m.test(readFileSync("/proc/self/status", "latin1")),
    isInitialPidNamespace: known(pidNamespace === "pid:[4026531836]"),
    pidNamespace: known(pidNamespace),
    ownPids: [pid(process.pid), pid(4_000_000)],
  });
  assert.deepEqual([ancestorPids[0], ancestorPids.includes(pid(1))], [process.ppid, true]);
});

test("readReader() goes by the rights that it has now", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  const { uid: user, isRoot, mayTrace } = await asNobody(libc, () => readReader("/proc", { helpers: [] }));
  assert.deepEqual({ user, isRoot, mayTrace }, { user: uid(65_534), isRoot: false, mayTrace: false });
});

test("readReader() follows its ancestors as far as they show, and names its session's leader", () => {
  using tree = procTree([
    { pid: 50, parent: 40, session: 45 },
    { pid: 40, parent: 30 },
    { pid: 30, parent: 20 },
  ]);
  const { ancestorPids, isInitialPidNamespace } = readReader(tree.path, { helpers: [] });
  assert.deepEqual(ancestorPids, [pid(40), pid(30), pid(20), pid(45)]);
  assert.deepEqual(isInitialPidNamespace, known(true));
});

test("readReader() takes another namespace for the first one when told so", () => {
  using tree = procTree([{ pid: 50 }]);
  const reader = readReader(tree.path, { helpers: [], firstPidNamespace: "pid:[1]" });
  assert.deepEqual(reader.isInitialPidNamespace, known(false));
});

test("readReader() fails in a /proc that does not show this program", () => {
  using tree = procTree([{ pid: 50 }]);
  rmSync(`${tree.path}/self`);
  assert.throws(() => readReader(tree.path, { helpers: [] }), {
    message: `Cannot find this program in ${tree.path}: the process has exited`,
  });
});
