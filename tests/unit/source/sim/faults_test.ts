import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { pid } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import { bytes } from "../../../../lib/core/units.ts";
import { FAULTS_SCHEMA, parseFaults } from "../../../../lib/source/sim/faults.ts";

const ALL = `
hang = true
latency = "40ms"
memory-api = "v1"
cuda-order = [1, 0]
kernel-log = "overwritten"
xids = ["NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."]
modules = [{ name = "nvidia", references = 3, used-by = ["nvidia_drm"] }, { name = "nvidia_drm" }]
drm-modeset = true
platform = "virtual-machine"
container = true
library-version = "570.86.15"
device-access = "refused-by-rules"
mps-daemon = "dead"
container-tools = "stale"
[[services]]
unit = "nvidia-dcgm.service"
main-pid = 812
[[services]]
unit = "my-monitor.service"
active = false
[gpu.0]
persistence = false
display = true
console = true
ecc-pending = true
uncorrected-errors = 2
remap-pending = true
remap-failed = true
retirement-pending = true
nvlink-peers = [1, 2]
nvswitch = true
virtualization = "vgpu-host"
fabric = "completed"
fabric-status = 23
sm-clock = 1980
architecture = "Ampere"
lost = true
recovery-action = "reset"
process-list = "denied"
unattributed = "3GiB"
utilization-latch = true
mps = true
name = "NVIDIA L4"
memory = "24GiB"
[[gpu.0.mig]]
gpu-instance = 1
profile = "1g.18gb"
memory = "16GiB"
[gpu.1]
`;

test("parseFaults() takes every fault there is, and its table gives them their names", () => {
  const sound = {
    isLost: false,
    recoveryAction: "none",
    processList: "whole",
    unattributed: 0,
    isUtilizationLatched: false,
    hasMps: false,
    mig: [],
    reset: {
      hasPersistence: true,
      hasDisplay: false,
      hasConsole: false,
      isEccPending: false,
      uncorrectedErrors: 0,
      isRemapPending: false,
      hasRemapFailed: false,
      isRetirementPending: false,
      nvlinkPeers: [],
      hasNvSwitch: false,
      virtualization: "none",
      fabric: "none",
      fabricStatus: 0,
      smClockMegahertz: 345,
      architecture: "Hopper",
    },
  };
  assert.deepEqual(v.parse(FAULTS_SCHEMA, parseFaults(ALL)), {
    hangs: true,
    latency: 40,
    memoryApi: "v1",
    cudaOrder: [1, 0],
    gpus: new Map<number, unknown>([
      [0, {
        isLost: true,
        recoveryAction: "reset",
        processList: "denied",
        unattributed: 3 * 1024 ** 3,
        isUtilizationLatched: true,
        hasMps: true,
        name: "NVIDIA L4",
        memory: bytes(24 * 1024 ** 3),
        mig: [{ gpuInstance: 1, computeInstance: 0, profile: "1g.18gb", memory: 16 * 1024 ** 3 }],
        reset: {
          hasPersistence: false,
          hasDisplay: true,
          hasConsole: true,
          isEccPending: true,
          uncorrectedErrors: 2,
          isRemapPending: true,
          hasRemapFailed: true,
          isRetirementPending: true,
          nvlinkPeers: [1, 2],
          hasNvSwitch: true,
          virtualization: "vgpu-host",
          fabric: "completed",
          fabricStatus: 23,
          smClockMegahertz: 1980,
          architecture: "Ampere",
        },
      }],
      [1, sound],
    ]),
    machine: {
      kernelLog: "overwritten",
      xids: ["NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."],
      modules: [
        { name: "nvidia", references: 3, usedBy: ["nvidia_drm"] },
        { name: "nvidia_drm", references: 0, usedBy: [] },
      ],
      hasDrmModeset: true,
      platform: "virtual-machine",
      isContainer: true,
      services: [
        { unit: "nvidia-dcgm.service", kind: "dcgm", isActive: true, mainPid: known(pid(812)) },
        {
          unit: "my-monitor.service",
          kind: "other",
          isActive: false,
          mainPid: absent("not-reported", "it has no main process"),
        },
      ],
    },
    doctor: {
      libraryVersion: "570.86.15",
      deviceAccess: "refused-by-rules",
      mpsDaemon: "dead",
      containerTools: "stale",
    },
  });
  assert.deepEqual(v.parse(FAULTS_SCHEMA, parseFaults("")), {
    hangs: false,
    latency: 0,
    memoryApi: "v2",
    gpus: new Map(),
    machine: {
      kernelLog: "whole",
      xids: [],
      modules: [
        { name: "nvidia", references: 1, usedBy: ["nvidia_uvm"] },
        { name: "nvidia_uvm", references: 0, usedBy: [] },
      ],
      hasDrmModeset: false,
      platform: "bare-metal",
      isContainer: false,
      services: [],
    },
    doctor: { deviceAccess: "granted", mpsDaemon: "none", containerTools: "none" },
  });
});

test("parseFaults() gives its table back as it stands in the file, so that it can be kept", () => {
  const table = parseFaults('latency = "40ms"\n[gpu.1]\nlost = true');
  assert.equal(JSON.stringify(table), '{"latency":"40ms","gpu":{"1":{"lost":true}}}');
});

test("parseFaults() names the place and the nearest right key when a key is wrong", () => {
  const wrong: readonly (readonly [string, string])[] = [
    ["hnag = true", "hnag: there is no such key; did you mean hang?"],
    ["[gpu.0]\nlots = true", "gpu.0.lots: there is no such key; did you mean lost?"],
    ["[gpu.0]\nxylophone = true", "gpu.0.xylophone: there is no such key"],
    ["[[gpu.0.mig]]\nprofle = 'x'", "gpu.0.mig.0.profle: there is no such key; did you mean profile?"],
    ["[[services]]\nunti = 'x'", "services.0.unti: there is no such key; did you mean unit?"],
    [
      "modules = [{ name = 'a', usedby = [] }]",
      "modules.0.usedby: there is no such key; did you mean used-by?",
    ],
    [
      "[gpu.0]\nremap-pendign = true",
      "gpu.0.remap-pendign: there is no such key; did you mean remap-pending?",
    ],
    ["gpus = 1", "gpus: there is no such key; did you mean gpu?"],
  ];
  for (const [text, message] of wrong) {
    assert.throws(() => parseFaults(text), { name: "SyntaxError", message });
  }
});

test("parseFaults() names the place when a value is wrong", () => {
  const wrong: readonly (readonly [string, string])[] = [
    ["hang = 1", "hang: Invalid type: Expected boolean but received 1"],
    ["[[services]]\nunit = 'x'\nmain-pid = 0", "services.0.main-pid: expected a process id"],
    ["[gpu.x]", "gpu.x: expected a GPU's index, as in [gpu.0]"],
    [
      "[gpu.1]\nunattributed = '3GB'",
      'gpu.1.unattributed: Cannot parse "3GB" as a size: did you mean 3GiB?',
    ],
    [
      "latency = '5'",
      'latency: Cannot parse "5" as a duration: expected a number with ms, s, m, h or d, such as 10s',
    ],
    ["hang = true\nlatency = [", "line 2, column 11: unfinished array"],
  ];
  for (const [text, message] of wrong) {
    assert.throws(() => parseFaults(text), { name: "SyntaxError", message });
  }
});
