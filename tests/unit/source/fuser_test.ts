import assert from "node:assert/strict";
import { test } from "node:test";
import { beginsFuser, readFuser } from "../../../lib/source/fuser.ts";
import { beginsLsof, readLsof } from "../../../lib/source/lsof.ts";

const CONTROL = { path: "/dev/nvidiactl", node: { kind: "control" } } as const;
const GPU = { path: "/dev/nvidia0", node: { kind: "gpu", minor: 0 } } as const;

test("readFuser() reads the brief form, whose letters stand behind the pid", () => {
  const lines = ["/dev/nvidia0:         21877m 21878", "/dev/nvidiactl:       21877m", ""];
  assert.equal(beginsFuser(lines, 0), true);
  assert.deepEqual(readFuser(lines, 0), {
    holders: [
      {
        pid: 21877,
        uses: [{ ...GPU, isOpen: true, isMapped: true }, { ...CONTROL, isOpen: true, isMapped: true }],
      },
      { pid: 21878, uses: [{ ...GPU, isOpen: true, isMapped: false }] },
    ],
    unreadable: [],
    end: 2,
  });
});

test("readFuser() reads a command with blanks, and lines of the kernel as unreadable", () => {
  const lines = [
    "                     USER        PID ACCESS COMMAND",
    "/dev/nvidia0:        root     kernel mount /dev",
    "                     u1         1234 F...m Web Content",
    "$ next command",
  ];
  assert.deepEqual(readFuser(lines, 0), {
    holders: [{
      pid: 1234,
      user: "u1",
      command: "Web Content",
      uses: [{ ...GPU, isOpen: true, isMapped: true }],
    }],
    unreadable: [1],
    end: 3,
  });
});

test("readFuser() takes no number for a pid that no process can have", () => {
  const { holders, unreadable } = readFuser([
    "/dev/nvidia0:  u1  9999999999 F...m x",
    "               u1  0 F...m y",
  ], 0);
  assert.deepEqual([holders, unreadable], [[], [0, 1]]);
});

test("readLsof() tells a mapping from a descriptor, and one use from several rows", () => {
  const lines = [
    "COMMAND  PID USER   FD   TYPE  DEVICE SIZE/OFF NODE NAME",
    "python  1234 u1    mem    CHR 195,255           535 /dev/nvidiactl",
    "python  1234 u1     3u    CHR 195,255      0t0  535 /dev/nvidiactl",
    "python  1234 u1     4u    CHR   195,0      0t0  539 /dev/nvidia0",
    "python  1234 u1    cwd    DIR     8,1     4096    2 /",
  ];
  assert.equal(beginsLsof(lines, 0), true);
  assert.deepEqual(readLsof(lines, 0), {
    holders: [{
      pid: 1234,
      user: "u1",
      command: "python",
      uses: [{ ...CONTROL, isOpen: true, isMapped: true }, { ...GPU, isOpen: true, isMapped: false }],
    }],
    unreadable: [],
    end: 5,
  });
});

test("readLsof() reads rows with a thread, and those of our devices that it cannot read as unreadable", () => {
  const lines = [
    "COMMAND  PID  TID TASKCMD USER   FD   TYPE  DEVICE SIZE/OFF NODE NAME",
    "python  1234 1235 worker  u1     4u    CHR   195,0      0t0  539 /dev/nvidia0",
    "python  1234 u1 NOFD /dev/nvidia0 (opendir: Permission denied)",
  ];
  assert.deepEqual(readLsof(lines, 0), {
    holders: [{
      pid: 1234,
      user: "u1",
      command: "python",
      uses: [{ ...GPU, isOpen: true, isMapped: false }],
    }],
    unreadable: [2],
    end: 3,
  });
});

test("readFuser() takes no long time over digits without an end", () => {
  const started = performance.now();
  const { holders, unreadable } = readFuser([`/dev/nvidia0: ${"9".repeat(4000)}x`], 0);
  assert.deepEqual([holders, unreadable], [[], [0]]);
  assert.ok(performance.now() - started < 1000);
});
