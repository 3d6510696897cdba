import { test } from "node:test";
import assert from "node:assert/strict";
import { uid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { parseProcStatus, readProcStatus } from "../../../lib/proc/status.ts";

const TEXT = `Name:\tsudo
State:\tS (sleeping)
Pid:\t812
Uid:\t1000\t0\t0\t0
Gid:\t1000\t0\t0\t0
NSpid:\t812\t7
SigIgn:\t0000000000001001
SigCgt:\t0000000000000000
`;

test("parseProcStatus() takes both user ids, SIGHUP and the pids inward", () => {
  assert.deepEqual(parseProcStatus(TEXT), {
    uid: uid(1000),
    effectiveUid: uid(0),
    ignoresHangup: true,
    namespacePids: known([812, 7]),
  });
});

test("parseProcStatus() looks at no other bit of the mask", () => {
  assert.equal(parseProcStatus(TEXT.replace("1001", "fffe")).ignoresHangup, false);
});

test("parseProcStatus() knows a kernel without PID namespaces", () => {
  assert.deepEqual(
    parseProcStatus(TEXT.replace(/NSpid.*\n/, "")).namespacePids,
    absent("not-supported", "this kernel has no PID namespaces"),
  );
});

test("parseProcStatus() does not take an escaped name for a line", () => {
  assert.equal(parseProcStatus(TEXT.replace("sudo", "x\\nUid:\\t0\\t0")).uid, uid(1000));
});

test("parseProcStatus() refuses a text that lacks a line", () => {
  for (const line of ["Uid", "SigIgn"]) {
    const text = TEXT.replace(new RegExp(`^${line}:.*\n`, "m"), "");
    assert.throws(() => parseProcStatus(text), {
      name: "SyntaxError",
      message: `Cannot parse "${text}": expected a line ${line} as in proc_pid_status(5)`,
    });
  }
});

test("readProcStatus() says that a process is gone", () => {
  assert.deepEqual(readProcStatus("/proc/4194304"), absent("exited"));
});
