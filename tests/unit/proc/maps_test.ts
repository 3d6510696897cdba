import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { deviceMinor } from "../../../lib/core/ids.ts";
import { createRecogniser, indexFiles } from "../../../lib/proc/devices.ts";
import { parseMappedFiles, parseNodeMappings } from "../../../lib/proc/maps.ts";
import { openStage } from "../../support/actor.ts";

/** As of a CUDA process in a container, whose /dev/nvidia0 is a file of its own. */
const MAPS = `200000000-200200000 ---p 00000000 00:00 0 
200200000-200400000 rw-s 00000000 00:05 514                              /dev/nvidiactl
200400000-200600000 rw-s 00000000 00:05 514                              /dev/nvidiactl
200600000-200800000 rw-s 00000000 103:12 9007199254740993                /dev/nvidia0
200800000-200a00000 rw-s 00000000 00:05 600                              /dev/nvidia-uvm (deleted)
55a0c0000000-55a0c0001000 r-xp 00001000 fe:00 260386                     /usr/bin/a 00:00 0 b
7ffd1c000000-7ffd1c021000 rw-p 00000000 00:00 0                          [stack]
7f1000000000-7f1000001000 r--s 00000000 00:2d 77                         /home/u/x\\012200-300 rw-s 0 00:05 514 /dev/nvidiactl
`;

test("parseNodeMappings() counts lines by file, and by path where the file is not known", () => {
  const byPath = createRecogniser(new Map(), []);
  const ofFile = indexFiles([
    { device: 5, inode: 514, node: { kind: "control" } },
    { device: 0x1_0312, inode: 9_007_199_254_740_993n, node: { kind: "gpu", minor: deviceMinor(3) } },
  ]);
  assert.deepEqual(parseNodeMappings(MAPS, { ofFile, ofPath: byPath.ofPath }), [
    { node: { kind: "control" }, lines: 2 },
    { node: { kind: "gpu", minor: deviceMinor(3) }, lines: 1 },
    { node: { kind: "uvm" }, lines: 1 },
  ]);
});

test("parseNodeMappings() finds nothing in a process without nodes, or without memory", () => {
  const recogniser = createRecogniser(new Map(), []);
  assert.deepEqual(parseNodeMappings(readFileSync("/proc/self/maps", "utf8"), recogniser), []);
  assert.deepEqual(parseNodeMappings("", recogniser), []);
});

test("parseNodeMappings() refuses a line that is no mapping", () => {
  assert.throws(() => parseNodeMappings("200-300 rw-s nonsense\n", createRecogniser(new Map(), [])), {
    name: "SyntaxError",
    message: 'Cannot parse "200-300 rw-s nonsense": expected a mapping as in proc_pid_maps(5)',
  });
});

test("parseMappedFiles() gives each path once", () => {
  assert.deepEqual(parseMappedFiles(MAPS), [
    "/dev/nvidiactl",
    "/dev/nvidia0",
    "/dev/nvidia-uvm (deleted)",
    "/usr/bin/a 00:00 0 b",
    "/home/u/x\\012200-300 rw-s 0 00:05 514 /dev/nvidiactl",
  ]);
});

test("parseNodeMappings() knows a real file by the numbers that stat(2) gives", async () => {
  using stage = openStage();
  await using actor = await stage.start(["map", "/dev/zero"]);
  const { dev, ino } = statSync("/dev/zero");
  const recogniser = {
    ofFile: indexFiles([{ device: dev, inode: ino, node: { kind: "uvm" } }]),
    ofPath: () => undefined,
  };
  const text = readFileSync(`/proc/${actor.pid}/maps`, "utf8");
  assert.deepEqual(parseNodeMappings(text, recogniser), [{ node: { kind: "uvm" }, lines: 1 }]);
});
