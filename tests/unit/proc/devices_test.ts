import { test } from "node:test";
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { deviceMinor } from "../../../lib/core/ids.ts";
import type { DeviceNode } from "../../../lib/model/observation.ts";
import {
  createRecogniser,
  indexFiles,
  makeDevice,
  nodeKey,
  parseDevices,
  readDeviceRecogniser,
} from "../../../lib/proc/devices.ts";

/** Of driver 580.159.04, and of 470.256.02. */
const DEVICES = `Character devices:
  1 mem
195 nvidia
195 nvidia-modeset
195 nvidiactl
235 nvidia-nvswitch
236 nvidia-nvlink
237 nvidia-caps-imex-channels
238 nvidia-caps
510 nvidia-uvm

Block devices:
259 blkext
510 nvidia-uvm
`;
const OLD_DEVICES = "Character devices:\n195 nvidia-frontend\n508 nvidia-uvm\n";

test("parseDevices() keeps the driver's own character devices", () => {
  assert.deepEqual([...parseDevices(DEVICES).keys()], [195, 235, 236, 237, 238, 510]);
  assert.deepEqual(
    parseDevices(OLD_DEVICES),
    new Map([[195, "nvidia-frontend"], [508, "nvidia-uvm"]]),
  );
  assert.deepEqual(parseDevices("Character devices:\n  1 mem\n  5 nvidiafb\n"), new Map());
});

test("createRecogniser() tells nodes by their device numbers", () => {
  for (const text of [DEVICES, OLD_DEVICES.replace("508", "510")]) {
    const { ofDevice } = createRecogniser(parseDevices(text), []);
    const found = [0, 7, 247, 248, 254, 255].map((minor) => ofDevice(195, minor));
    assert.deepEqual(found, [
      { kind: "gpu", minor: deviceMinor(0) },
      { kind: "gpu", minor: deviceMinor(7) },
      { kind: "gpu", minor: deviceMinor(247) },
      { kind: "other" },
      { kind: "modeset" },
      { kind: "control" },
    ]);
    assert.deepEqual([ofDevice(510, 0), ofDevice(510, 1)], [{ kind: "uvm" }, { kind: "uvm-tools" }]);
    assert.equal(ofDevice(1, 3), undefined);
  }
  const { ofDevice } = createRecogniser(parseDevices(DEVICES), []);
  assert.deepEqual([ofDevice(238, 12), ofDevice(235, 255), ofDevice(237, 0), ofDevice(236, 0)], [
    { kind: "capability" },
    { kind: "nvswitch" },
    { kind: "other" },
    { kind: "other" },
  ]);
});

test("createRecogniser() tells mappings by their paths, removed files too", () => {
  const { ofPath } = createRecogniser(new Map(), []);
  const nodes: Readonly<Record<string, DeviceNode | undefined>> = {
    "/dev/nvidia0": { kind: "gpu", minor: deviceMinor(0) },
    "/dev/nvidia15 (deleted)": { kind: "gpu", minor: deviceMinor(15) },
    "/dev/nvidiactl": { kind: "control" },
    "/dev/nvidia-modeset": { kind: "modeset" },
    "/dev/nvidia-uvm": { kind: "uvm" },
    "/dev/nvidia-uvm-tools": { kind: "uvm-tools" },
    "/dev/nvidia-caps/nvidia-cap1": { kind: "capability" },
    "/dev/nvidia-nvswitch0": { kind: "nvswitch" },
    "/dev/nvidia-nvswitchctl": { kind: "nvswitch" },
    "/home/u/dev/nvidia0": undefined,
    "/dev/nvidia0.bak": undefined,
    "/dev/nvidia": undefined,
  };
  assert.deepEqual(Object.fromEntries(Object.keys(nodes).map((path) => [path, ofPath(path)])), nodes);
});

test("indexFiles() needs both numbers, and takes them as number or bigint", () => {
  const node = { kind: "uvm" } as const;
  const large = 2n ** 60n;
  const ofFile = indexFiles([{ device: 6n, inode: 514n, node }, { device: 7, inode: large, node }]);
  assert.deepEqual([ofFile(6, 514), ofFile(6n, 514n), ofFile(7n, large)], [node, node, node]);
  assert.deepEqual([ofFile(7, 514), ofFile(6, 515), ofFile(7, large + 1n)], [
    undefined,
    undefined,
    undefined,
  ]);
});

test("makeDevice() agrees with stat(2)", () => {
  assert.equal(makeDevice(1, 3), statSync("/dev/null").rdev);
  assert.deepEqual([makeDevice(0xfe, 0x12), makeDevice(259, 0x12345)], [0xfe12, 0x1231_0345]);
});

test("nodeKey() keeps GPUs apart", () => {
  const keys = [0, 1].map((minor) => nodeKey({ kind: "gpu", minor: deviceMinor(minor) }));
  assert.deepEqual([...keys, nodeKey({ kind: "control" })], ["gpu0", "gpu1", "control"]);
});

test("readDeviceRecogniser() recognises no other device of this machine", () => {
  const { ofDevice, ofFile } = readDeviceRecogniser();
  const { dev, ino } = statSync("/dev/null");
  assert.deepEqual([ofDevice(1, 3), ofFile(dev, ino)], [undefined, undefined]);
});
