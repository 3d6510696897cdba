import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBusId, pid } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import type { ResetFacts } from "../../../../lib/model/reset_facts.ts";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { describeFacts, readSimResetFacts } from "../../../../lib/source/sim/reset_facts.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const SOUND: ResetFacts = {
  kernelLog: known({ xids: [], switchErrors: [], isWhole: true }),
  modules: known([
    { name: "nvidia", references: 1, usedBy: ["nvidia_uvm"] },
    { name: "nvidia_uvm", references: 0, usedBy: [] },
  ]),
  drmModeset: absent("not-supported", "nvidia_drm is not loaded"),
  platform: known("bare-metal"),
  isContainer: known(false),
  services: known([]),
  consoleGpus: known(new Set()),
  transientUnits: known(new Set()),
};

function factsOf(faults: string): ResetFacts {
  using folder = temporaryFolder();
  return describeFacts(
    initSimServer(folder.path, { gpus: 8, faultsPath: folder.write("faults.toml", faults) }),
  );
}

test("readSimResetFacts() describes a sound server, made and left alone", () => {
  using folder = temporaryFolder();
  initSimServer(folder.path, {});
  assert.deepEqual(readSimResetFacts(folder.path), SOUND);
});

test("describeFacts() reads the messages as the kernel's log holds them, one a second", () => {
  const switchError = "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal";
  const faults = `xids = [
  "NVRM: Xid (PCI:0000:01:00): 119, pid='<unknown>', name=<unknown>, Timeout waiting for RPC from GSP!",
  "${switchError}",
  "NVRM: Xid (PCI:0000:01:00): 43, pid=812, name=python, Ch 00000008",
  "usb 1-1: new device",
]`;
  const busId = parseBusId("0000:01:00.0");
  const nobody = absent("not-reported", "the driver names no process");
  assert.deepEqual(factsOf(faults).kernelLog, {
    ok: true,
    value: {
      xids: [
        {
          busId,
          xid: 119,
          microsecondsSinceBoot: known(61_000_000),
          pid: nobody,
          name: nobody,
          text: "Timeout waiting for RPC from GSP!",
        },
        {
          busId,
          xid: 43,
          microsecondsSinceBoot: known(63_000_000),
          pid: known(pid(812)),
          name: known("python"),
          text: "Ch 00000008",
        },
      ],
      switchErrors: [switchError],
      isWhole: true,
    },
  });
});

test("describeFacts() has a log that lost its beginning, and one that is denied", () => {
  assert.deepEqual(
    [factsOf('kernel-log = "overwritten"'), factsOf('kernel-log = "denied"')].map(({ kernelLog }) =>
      kernelLog
    ),
    [
      known({ xids: [], switchErrors: [], isWhole: false }),
      absent("no-permission", "the kernel's log is for root alone"),
    ],
  );
});

test("describeFacts() gives the rest as the file says it", () => {
  const faults = `drm-modeset = true
platform = "virtual-machine"
container = true
modules = [{ name = "nvidia_drm", references = 1 }]
services = [{ unit = "nvidia-fabricmanager.service", main-pid = 900 }]
[gpu.7]
console = true
`;
  assert.deepEqual(factsOf(faults), {
    ...SOUND,
    modules: known([{ name: "nvidia_drm", references: 1, usedBy: [] }]),
    drmModeset: known(true),
    platform: known("virtual-machine"),
    isContainer: known(true),
    services: known([{
      unit: "nvidia-fabricmanager.service",
      kind: "fabric-manager",
      isActive: true,
      mainPid: known(pid(900)),
    }]),
    consoleGpus: known(new Set([parseBusId("0000:08:00.0")])),
  });
});

test("initSimServer() refuses NVLinks to GPUs that are not there, and to the GPU itself", () => {
  using folder = temporaryFolder();
  for (const [peers, peer] of [["[0, 8]", 8], ["[1]", 1]] as const) {
    const faultsPath = folder.write("faults.toml", `[gpu.1]\nnvlink-peers = ${peers}`);
    assert.throws(() => initSimServer(`${folder.path}/server`, { gpus: 8, faultsPath }), {
      name: "GpuctlError",
      failure: "usage",
      message:
        `Cannot read the faults in ${faultsPath}: gpu.1.nvlink-peers: expected other GPUs of 0 to 7, and there is ${peer}`,
    });
  }
});
