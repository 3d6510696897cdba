/** One machine, described once, as each source would show it: the driver's library, nvidia-smi, a simulated server. */
import { pid } from "../../lib/core/ids.ts";
import { bytes } from "../../lib/core/units.ts";
import { parseFaults } from "../../lib/source/sim/faults.ts";
import type { ChargedMemory } from "../../lib/source/sim/report.ts";
import { buildServer, migUuid, type SimServer } from "../../lib/source/sim/server.ts";
import { uuidOf } from "./machine.ts";
import type { Scenario, ScenarioGpu } from "./nvml_stub.ts";
import { readSmiFixture } from "./smi_fixtures.ts";
import type { SmiAnswer } from "./smi_script.ts";

const MIB = 1024 ** 2;
const TOTAL_MIB = 143_771;
const RESERVED_MIB = 616;
const LOST = 15;
const NO_PERMISSION = 4;
const NOT_SUPPORTED = 3;
const LIST_CALLS = ["Compute", "Graphics", "MPSCompute"].map((kind) =>
  `nvmlDeviceGet${kind}RunningProcesses_v2`
);

/** Memory of one process. On a divided GPU it is in an instance. */
export interface SameProcess {
  readonly pid: number;
  readonly mib: number;
  readonly gpuInstance?: number;
  readonly computeInstance?: number;
}

/** A compute instance; `mib` is what its GPU instance has. */
export interface SameMigDevice {
  readonly gpuInstance: number;
  readonly computeInstance: number;
  readonly profile: string;
  readonly mib: number;
}

/** One GPU, an H200 in order but for what is said. */
export interface SameGpu {
  readonly processes?: readonly SameProcess[];
  /** In use and listed with no process. */
  readonly unattributedMib?: number;
  readonly mig?: readonly SameMigDevice[];
  readonly hasMps?: boolean;
  readonly isLost?: boolean;
  readonly isListDenied?: boolean;
  readonly recoveryAction?: "reset" | "drain-and-reset";
}

/** GPUs in the order of their indexes, behind driver 580.159.04. */
export type SameMachine = readonly SameGpu[];

/** What the library's stand-in is to answer. */
export function toScenario(machine: SameMachine): Scenario {
  return { gpus: machine.map(toScenarioGpu) };
}

function toScenarioGpu(gpu: SameGpu, index: number): ScenarioGpu {
  const { processes = [], mig = [], hasMps, isLost, isListDenied, recoveryAction } = gpu;
  return {
    uuid: uuidOf(index),
    bus: busOf(index),
    minor: index,
    totalBytes: TOTAL_MIB * MIB,
    reservedBytes: RESERVED_MIB * MIB,
    usedBytes: usedMib(gpu) * MIB,
    mig: { current: mig.length > 0 ? 1 : 0, pending: mig.length > 0 ? 1 : 0 },
    instances: mig.map((device, place) => ({
      uuid: migUuid(index, place),
      name: `NVIDIA H200 MIG ${device.profile}`,
      gpuInstance: device.gpuInstance,
      computeInstance: device.computeInstance,
      totalBytes: device.mib * MIB,
      usedBytes: instanceMib(gpu, device) * MIB,
    })),
    // RECOVERY_ACTIONS of nvml.h, field 230.
    fields: [{ id: 230, value: recoveryAction === undefined ? 0 : recoveryAction === "reset" ? 1 : 4 }],
    processes: processes.map(({ mib, ...process }) => ({
      ...process,
      usedBytes: mib * MIB,
      list: hasMps ? "mps" : "compute",
    })),
    fail: {
      ...isLost && { nvmlDeviceGetHandleByIndex_v2: LOST },
      ...isListDenied && Object.fromEntries(LIST_CALLS.map((call) => [call, NO_PERMISSION])),
      ...mig.length > 0 && { nvmlDeviceGetUtilizationRates: NOT_SUPPORTED },
    },
  };
}

/** What nvidia-smi is to print, in the words of a real one (tests/fixtures/smi/idle.xml). */
export function toSmiAnswers(machine: SameMachine): Readonly<Record<string, SmiAnswer>> {
  const lost = machine.flatMap(({ isLost }, index) => isLost ? [index] : []);
  const failure = lost.length === 0 ? {} : {
    status: LOST,
    err: lost.map((index) =>
      `Unable to determine the device handle for GPU${index}: ${
        busOf(index).slice(4)
      }: GPU is lost.  Reboot the system to recover this GPU\n`
    ).join(""),
  };
  return { "-q -x": { out: toXml(machine), ...failure }, "-L": { out: toList(machine), ...failure } };
}

function toXml(machine: SameMachine): string {
  const real = readSmiFixture("idle.xml");
  const start = real.indexOf("\t<gpu id=");
  const end = real.indexOf("\t</gpu>") + "\t</gpu>\n".length;
  const template = real.slice(start, end);
  const blocks = machine.flatMap((gpu, index) => gpu.isLost ? [] : [toXmlGpu(template, gpu, index)]);
  const head = replaceElement(real.slice(0, start), "attached_gpus", String(machine.length));
  return head + blocks.join("\n") + real.slice(end);
}

function toXmlGpu(template: string, gpu: SameGpu, index: number): string {
  const { mig = [], recoveryAction } = gpu;
  const action = recoveryAction === undefined
    ? "None"
    : recoveryAction === "reset"
    ? "Reset"
    : "Drain and Reset";
  const mode = mig.length > 0 ? "Enabled" : "Disabled";
  const elements: readonly (readonly [string, string])[] = [
    ["uuid", uuidOf(index)],
    ["minor_number", String(index)],
    ["pci_bus_id", busOf(index)],
    ["gpu_recovery_action", action],
    ["current_mig", mode],
    ["pending_mig", mode],
    [
      "mig_devices",
      mig.length > 0 ? mig.map((device, place) => toXmlMig(gpu, device, place)).join("") : "None",
    ],
    ["fb_memory_usage", toXmlMemory(TOTAL_MIB, RESERVED_MIB, usedMib(gpu))],
    ["gpu_util", mig.length > 0 ? "N/A" : "0 %"],
    ["processes", gpu.isListDenied ? "Insufficient Permissions" : toXmlProcesses(gpu)],
  ];
  // The GPU's own memory is replaced before that of its MIG devices stands above it.
  return elements.toSorted(([a], [b]) => Number(a === "mig_devices") - Number(b === "mig_devices"))
    .reduce((xml, [name, content]) => replaceElement(xml, name, content), template)
    .replace(/<gpu id="[^"]*"/, `<gpu id="${busOf(index)}"`);
}

function toXmlMig(gpu: SameGpu, device: SameMigDevice, place: number): string {
  const { gpuInstance, computeInstance, mib } = device;
  return `<mig_device><index>${place}</index><gpu_instance_id>${gpuInstance}</gpu_instance_id>` +
    `<compute_instance_id>${computeInstance}</compute_instance_id>` +
    `<fb_memory_usage>${toXmlMemory(mib, 0, instanceMib(gpu, device))}</fb_memory_usage></mig_device>`;
}

function toXmlMemory(total: number, reserved: number, used: number): string {
  return `<total>${total} MiB</total><reserved>${reserved} MiB</reserved><used>${used} MiB</used><free>${
    total - reserved - used
  } MiB</free>`;
}

function toXmlProcesses({ processes = [], hasMps }: SameGpu): string {
  return processes.map(({ pid, mib, gpuInstance = "N/A", computeInstance = "N/A" }) =>
    `<process_info><gpu_instance_id>${gpuInstance}</gpu_instance_id>` +
    `<compute_instance_id>${computeInstance}</compute_instance_id><pid>${pid}</pid>` +
    `<type>${hasMps ? "M+C" : "C"}</type><process_name>/usr/bin/python3</process_name>` +
    `<used_memory>${mib} MiB</used_memory></process_info>`
  ).join("");
}

function replaceElement(xml: string, name: string, content: string): string {
  const pattern = new RegExp(`<${name}>[^]*?</${name}>`);
  if (!pattern.test(xml)) throw new Error(`Cannot replace <${name}>: the capture has none`);
  return xml.replace(pattern, () => `<${name}>${content}</${name}>`);
}

function toList(machine: SameMachine): string {
  return machine.flatMap(({ isLost, mig = [] }, index) =>
    isLost ? [] : [
      `GPU ${index}: NVIDIA H200 (UUID: ${uuidOf(index)})\n`,
      ...mig.map(({ profile }, place) =>
        `  MIG ${profile.padEnd(15)} Device ${String(place).padStart(2)}: (UUID: ${migUuid(index, place)})\n`
      ),
    ]
  ).join("");
}

/** The simulated server, and what its jobs hold on it. */
export function toSimulation(machine: SameMachine): { server: SimServer; memory: readonly ChargedMemory[] } {
  let inode = 0n;
  return {
    server: buildServer("/sim", {
      schema: "gpuctl.sim/1",
      driver: { version: "580.159.04", libraryVersion: "580.159.04", cudaVersion: "13.0" },
      gpus: machine.map((_, index) => ({
        index,
        uuid: uuidOf(index),
        name: "NVIDIA H200",
        busId: busOf(index),
        minor: index,
        memoryTotalBytes: TOTAL_MIB * MIB,
        memoryReservedBytes: RESERVED_MIB * MIB,
      })),
      faults: parseFaults(machine.map(toFaults).join("")),
    }),
    memory: machine.flatMap(({ processes = [] }, gpu) =>
      processes.map(({ pid: number, mib, gpuInstance, computeInstance }): ChargedMemory => ({
        gpu,
        size: bytes(mib * MIB),
        inode: ++inode,
        owner: pid(number),
        name: {
          pid: number,
          pidNamespace: 1,
          serial: 0,
          kind: "alloc",
          ...gpuInstance !== undefined && computeInstance !== undefined &&
            { mig: { gpuInstance, computeInstance } },
        },
      }))
    ),
  };
}

function toFaults(gpu: SameGpu, index: number): string {
  const { isLost, isListDenied, hasMps, recoveryAction, unattributedMib = 0, mig = [] } = gpu;
  return [
    `[gpu.${index}]`,
    ...isLost ? ["lost = true"] : [],
    ...isListDenied ? ['process-list = "denied"'] : [],
    ...hasMps ? ["mps = true"] : [],
    ...recoveryAction === undefined ? [] : [`recovery-action = "${recoveryAction}"`],
    `unattributed = "${unattributedMib}MiB"`,
    ...mig.flatMap(({ gpuInstance, computeInstance, profile, mib }) => [
      `[[gpu.${index}.mig]]`,
      `gpu-instance = ${gpuInstance}`,
      `compute-instance = ${computeInstance}`,
      `profile = "${profile}"`,
      `memory = "${mib}MiB"`,
    ]),
    "",
  ].join("\n");
}

function busOf(index: number): string {
  return `00000000:${(0x10 + index).toString(16).toUpperCase()}:00.0`;
}

function usedMib({ processes = [], unattributedMib = 0 }: SameGpu): number {
  return processes.reduce((sum, { mib }) => sum + mib, unattributedMib);
}

/** Compute instances of one GPU instance share its memory. */
function instanceMib({ processes = [] }: SameGpu, { gpuInstance }: SameMigDevice): number {
  return processes.filter((process) => process.gpuInstance === gpuInstance).reduce(
    (sum, { mib }) => sum + mib,
    0,
  );
}
