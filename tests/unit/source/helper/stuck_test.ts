import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import assert from "node:assert/strict";
import { pid } from "../../../../lib/core/ids.ts";
import { clockTicks } from "../../../../lib/core/units.ts";
import type { ProcessState, ProcStat } from "../../../../lib/model/process.ts";
import {
  findStuckHelper,
  isAlive,
  recordStuckHelper,
  type StuckHelper,
  stuckRecordsOf,
} from "../../../../lib/source/helper/stuck.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const OWN_UID = process.getuid?.() ?? 0;
const HELPER: StuckHelper = {
  pid: pid(812),
  startTicks: clockTicks(5000),
  since: "2026-11-30T09:00:00.000Z",
};

/** A process table with one process in it. */
function tableOf(
  { pid: processId, startTicks }: { pid: number; startTicks: number },
  { state = "D", threads = 3 }: { state?: ProcessState; threads?: number } = {},
) {
  const stat: ProcStat = {
    pid: pid(processId),
    startTicks: clockTicks(startTicks),
    comm: "gpuctl-helper",
    state,
    parentPid: 1,
    processGroup: processId,
    session: processId,
    terminal: 0,
    threads,
    cpuTicks: clockTicks(0),
    isKernelThread: false,
    isExiting: false,
  };
  return { findProcess: (asked: number) => asked === processId ? stat : undefined };
}

test("stuckRecordsOf() gives root its own folder, a session its own, and others one under their number", () => {
  assert.deepEqual(stuckRecordsOf(0, "/run/user/0"), { directory: "/run/gpuctl", uid: 0 });
  assert.deepEqual(stuckRecordsOf(1000, "/run/user/1000"), { directory: "/run/user/1000/gpuctl", uid: 1000 });
  assert.deepEqual(stuckRecordsOf(1000, undefined), { directory: "/tmp/gpuctl-1000", uid: 1000 });
  assert.deepEqual(stuckRecordsOf(1000, "relative"), { directory: "/tmp/gpuctl-1000", uid: 1000 });
});

test("findStuckHelper() finds what recordStuckHelper() wrote, for as long as that process lives", () => {
  using folder = temporaryFolder();
  const records = { directory: join(folder.path, "gpuctl"), uid: OWN_UID };
  assert.equal(findStuckHelper(records, tableOf(HELPER)), undefined);
  assert.equal(recordStuckHelper(records, HELPER), undefined);
  assert.deepEqual(findStuckHelper(records, tableOf(HELPER)), HELPER);

  const later = { pid: HELPER.pid, startTicks: HELPER.startTicks + 1 };
  assert.equal(findStuckHelper(records, tableOf(later)), undefined);
  assert.deepEqual(readdirSync(records.directory), []);
});

test("recordStuckHelper() makes what only its user can read", () => {
  using folder = temporaryFolder();
  const records = { directory: join(folder.path, "gpuctl"), uid: OWN_UID };
  recordStuckHelper(records, HELPER);
  const modeOf = (path: string) => lstatSync(path).mode & 0o777;
  const path = join(records.directory, "stuck-helper-812.json");
  assert.deepEqual([modeOf(records.directory), modeOf(path)], [0o700, 0o600]);
  assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), {
    schema: "gpuctl.stuck-helper/1",
    pid: 812,
    startTicks: 5000,
    since: "2026-11-30T09:00:00.000Z",
  });
});

test("recordStuckHelper() replaces the record of an earlier process with the same pid", () => {
  using folder = temporaryFolder();
  const records = { directory: folder.path, uid: OWN_UID };
  recordStuckHelper(records, { ...HELPER, startTicks: clockTicks(1) });
  assert.equal(recordStuckHelper(records, HELPER), undefined);
  assert.deepEqual(findStuckHelper(records, tableOf(HELPER)), HELPER);
});

test("findStuckHelper() finds a helper that lives among records of several", () => {
  using folder = temporaryFolder();
  const records = { directory: folder.path, uid: OWN_UID };
  recordStuckHelper(records, { ...HELPER, pid: pid(811) });
  recordStuckHelper(records, HELPER);
  recordStuckHelper(records, { ...HELPER, pid: pid(813) });
  assert.deepEqual(findStuckHelper(records, tableOf(HELPER)), HELPER);
});

for (
  const [what, prepare] of [
    ["belongs to another user", (folder: string) => ({ directory: folder, uid: OWN_UID + 1 })],
    ["others can write to", (folder: string) => {
      chmodSync(folder, 0o770);
      return { directory: folder, uid: OWN_UID };
    }],
    ["is a link", (folder: string) => {
      mkdirSync(join(folder, "real"), { mode: 0o700 });
      symlinkSync("real", join(folder, "link"));
      return { directory: join(folder, "link"), uid: OWN_UID };
    }],
  ] as const
) {
  test(`recordStuckHelper() and findStuckHelper() do not use a folder that ${what}`, () => {
    using folder = temporaryFolder();
    const records = prepare(folder.path);
    const text = { schema: "gpuctl.stuck-helper/1", ...HELPER };
    folder.write("stuck-helper-812.json", JSON.stringify(text));
    folder.write("real/stuck-helper-812.json", JSON.stringify(text));
    assert.equal(
      recordStuckHelper(records, HELPER),
      `${records.directory} is not a private folder of this user`,
    );
    assert.equal(findStuckHelper(records, tableOf(HELPER)), undefined);
  });
}

test("recordStuckHelper() gives the reason when there can be no folder", () => {
  using folder = temporaryFolder();
  const file = folder.write("file", "");
  const reason = recordStuckHelper({ directory: join(file, "gpuctl"), uid: OWN_UID }, HELPER);
  assert.match(reason ?? "", /ENOTDIR|not a directory/i);
});

test("findStuckHelper() believes no record that is not its own", () => {
  using folder = temporaryFolder();
  const records = { directory: folder.path, uid: OWN_UID };
  folder.write("stuck-helper-812.json", JSON.stringify({ ...HELPER, schema: "gpuctl.stuck-helper/9" }));
  folder.write("stuck-helper-1.json", '{"schema":"gpuctl.stuck-helper/1","pid":-5}');
  folder.write("stuck-helper-2.json", "");
  assert.equal(findStuckHelper(records, tableOf(HELPER)), undefined);
});

test("isAlive() takes a zombie for gone only once its threads are", () => {
  assert.equal(isAlive(HELPER, tableOf(HELPER, { state: "Z", threads: 1 })), false);
  assert.equal(isAlive(HELPER, tableOf(HELPER, { state: "Z", threads: 2 })), true);
  assert.equal(isAlive(HELPER, tableOf(HELPER, { state: "X", threads: 1 })), false);
  assert.equal(isAlive(HELPER, tableOf({ ...HELPER, pid: 813 })), false);
});
