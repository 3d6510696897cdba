import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deviceMinor, parseBusId } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { NodeFile } from "../../../lib/model/doctor_facts.ts";
import { describePermissions, readDeviceNodes, readNodeAccess } from "../../../lib/proc/device_nodes.ts";
import { readPciGpus } from "../../../lib/proc/pci_gpus.ts";
import { NEEDS_ROOT } from "../../support/as_nobody.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary.ts";

const DEVICES = "Character devices:\n195 nvidia\n511 nvidia-uvm\n\nBlock devices:\n";

function makeNode(root: TemporaryFolder, name: string, number: string): void {
  mkdirSync(join(root.path, "dev"), { recursive: true });
  execFileSync("mknod", [join(root.path, "dev", name), "c", ...number.split(":")]);
  chmodSync(join(root.path, "dev", name), 0o660);
}

function shortly(nodes: readonly NodeFile[]) {
  return nodes.map((
    { path, permissions, isForEverybody, isCurrent },
  ) => [path, permissions, isForEverybody, isCurrent]);
}

test(
  "readDeviceNodes() tells nodes of the loaded driver from those of an earlier one, in their order",
  NEEDS_ROOT,
  () => {
    using root = temporaryFolder();
    root.write("proc/devices", DEVICES);
    makeNode(root, "nvidia10", "195:10");
    makeNode(root, "nvidia2", "195:2");
    makeNode(root, "nvidiactl", "195:255");
    makeNode(root, "nvidia-uvm", "510:0");
    makeNode(root, "nvidiafoo", "195:3");
    mkdirSync(join(root.path, "dev/nvidia-caps"));
    const nodes = readDeviceNodes(root.path);
    assert.deepEqual(shortly(nodes.ok ? nodes.value : []), [
      ["/dev/nvidia-uvm", "0:0 0660", false, known(false)],
      ["/dev/nvidia2", "0:0 0660", false, known(true)],
      ["/dev/nvidia10", "0:0 0660", false, known(true)],
      ["/dev/nvidiactl", "0:0 0660", false, known(true)],
    ]);
    assert.deepEqual(nodes.ok && nodes.value[1]?.node, { kind: "gpu", minor: deviceMinor(2) });
  },
);

test(
  "readDeviceNodes() does not know what a node is without the kernel's list of devices",
  NEEDS_ROOT,
  () => {
    using root = temporaryFolder();
    makeNode(root, "nvidia0", "195:0");
    const nodes = readDeviceNodes(root.path);
    assert.equal(nodes.ok && nodes.value[0]?.isCurrent.ok, false);
  },
);

test("readNodeAccess() says granted for what may be read and written, and why not for what is gone", () => {
  using folder = temporaryFolder();
  assert.deepEqual(readNodeAccess(folder.write("node", "")), known("granted"));
  assert.deepEqual(readNodeAccess(join(folder.path, "nothing")), absent("failed", "it is gone"));
});

test("describePermissions() gives owner, group and mode as numbers", () => {
  assert.equal(describePermissions({ uid: 0, gid: 44, mode: 0o20660 }), "0:44 0660");
});

test("readPciGpus() finds NVIDIA's display controllers and the driver that has each", () => {
  using root = temporaryFolder();
  const device = (address: string, vendor: string, kind: string) => {
    root.write(`sys/bus/pci/devices/${address}/vendor`, `${vendor}\n`);
    root.write(`sys/bus/pci/devices/${address}/class`, `${kind}\n`);
    return join(root.path, "sys/bus/pci/devices", address);
  };
  symlinkSync(
    "../../../bus/pci/drivers/vfio-pci",
    join(device("0000:c1:00.0", "0x10de", "0x030200"), "driver"),
  );
  device("0000:01:00.0", "0x10de", "0x030000");
  device("0000:01:00.1", "0x10de", "0x040300");
  device("0000:02:00.0", "0x1002", "0x030000");
  assert.deepEqual(
    readPciGpus(root.path),
    known([
      { busId: parseBusId("0000:01:00.0") },
      { busId: parseBusId("0000:c1:00.0"), driver: "vfio-pci" },
    ]),
  );
});
