/** Builds the stand-in for libnvidia-ml.so.1 (tests/contract/nvml_stub.c) and writes the scenarios it answers from. */
import { execFileSync } from "node:child_process";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLibrary } from "../../lib/native/dlopen.ts";
import { temporaryFolder } from "./temporary.ts";

/** The variable in which a process that loads the stub finds its scenario file. */
export const SCENARIO_VARIABLE = "GPUCTL_NVML_STUB";

const SOURCES = fileURLToPath(new URL("../contract/", import.meta.url));
const NO_INSTANCE = 0xffff_ffff;

/** The stub in a folder of its own, under the driver's file name. */
export interface Stub extends Disposable {
  readonly library: string;
  /** Where this stub's scenario is to be written. Beside it, `.hanging` appears when a call begins never to return. */
  readonly scenario: string;
}

/** What the driver says. What is left out is as on an idle H200 with driver 580.159.04. */
export interface Scenario {
  readonly driver?: string;
  /** As nvmlSystemGetNVMLVersion gives it, with NVML's own major number in front. */
  readonly library?: string;
  readonly cuda?: number;
  /** Bytes of a `_v3` process record: 24, or 32 as on drivers 535.43.02 to 535.86. */
  readonly v3Record?: 24 | 32;
  readonly gpus: readonly ScenarioGpu[];
  /** Calls that are of no GPU, and the nvmlReturn_t that each gives. */
  readonly fail?: Readonly<Record<string, number>>;
  /** Calls that are of no GPU and never return. */
  readonly hang?: readonly string[];
}

/** One GPU. */
export interface ScenarioGpu {
  readonly uuid?: string;
  /** Bytes for a name that is no text. */
  readonly name?: string | Uint8Array;
  readonly bus?: string;
  readonly minor?: number;
  readonly totalBytes?: number;
  readonly reservedBytes?: number;
  readonly usedBytes?: number;
  readonly persistence?: number;
  readonly computeMode?: number;
  readonly display?: number;
  readonly utilization?: number;
  readonly mig?: { readonly current: number; readonly pending: number };
  readonly instances?: readonly ScenarioInstance[];
  readonly fields?: readonly { readonly id: number; readonly value: number; readonly status?: number }[];
  readonly processes?: readonly ScenarioProcess[];
  readonly health?: ScenarioHealth;
  /** What is on record; accounting mode is off without it. */
  readonly accounted?: readonly ScenarioAccounted[];
  /** How many more compute processes there are after each time the compute list was asked for. */
  readonly grows?: number;
  /** The library clears all the room that it is given for a process list. */
  readonly clears?: boolean;
  /** Calls for this GPU, and the nvmlReturn_t that each gives. */
  readonly fail?: Readonly<Record<string, number>>;
  /** Calls for this GPU that never return. */
  readonly hang?: readonly string[];
}

/** A process that used the GPU. */
export interface ScenarioAccounted {
  readonly pid: number;
  readonly peakBytes: number | bigint;
  readonly startedAt: number;
  readonly isRunning?: boolean;
  /** Its record was overwritten after its pid was listed. */
  readonly isGone?: boolean;
}

/** What bears on a reset. */
export interface ScenarioHealth {
  readonly ecc?: readonly [current: number, pending: number];
  readonly uncorrectedErrors?: number | bigint;
  readonly remappedRows?: readonly [
    correctable: number,
    uncorrectable: number,
    pending: number,
    failed: number,
  ];
  readonly retirementPending?: number;
  readonly virtualization?: number;
  readonly fabric?: readonly [state: number, status: number];
  readonly smClock?: number;
  readonly architecture?: number;
  /** By place; a place that is left out has no link, and there are 18. `end` is nvmlIntNvLinkDeviceType_t. */
  readonly links?: Readonly<Record<number, ScenarioLink>>;
}

/** One NVLink. */
export interface ScenarioLink {
  readonly isUp?: boolean;
  readonly end?: number;
  readonly bus?: string;
}

/** A MIG device, or the status that its place gives: 6 (NOT_FOUND) for an empty one. */
export type ScenarioInstance =
  | { readonly status: number }
  | {
    readonly uuid: string;
    readonly name: string;
    readonly gpuInstance: number;
    readonly computeInstance: number;
    readonly totalBytes: number;
    readonly usedBytes: number;
  };

/** One line of one process list. */
export interface ScenarioProcess {
  readonly list?: "compute" | "graphics" | "mps";
  readonly pid: number;
  /** `bigint` for NVML_VALUE_NOT_AVAILABLE and its like. */
  readonly usedBytes: number | bigint;
  readonly gpuInstance?: number;
  readonly computeInstance?: number;
}

const LISTS = ["compute", "graphics", "mps"] as const;
/** NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: none. */
const HEALTHY: NonNullable<ScenarioGpu["fields"]> = [{ id: 230, value: 0 }];

/**
 * Compiles the stub.
 *
 * @param options.without symbols that this version of the library does not export
 * @throws {Error} if there is no C compiler: nothing is proven then
 */
export function buildStub({ without = [] }: { readonly without?: readonly string[] } = {}): Stub {
  const folder = temporaryFolder();
  const library = join(folder.path, "libnvidia-ml.so.1");
  const hidden = ["none", ...without].map((symbol) => `${symbol};`).join(" ");
  const exports = folder.write("exports.map", `{ global: *; local: ${hidden} };\n`);
  const flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-fvisibility=hidden"];
  execFileSync("cc", [
    ...flags,
    `-Wl,--version-script=${exports}`,
    "-Wl,-soname,libnvidia-ml.so.1",
    "-o",
    library,
    join(SOURCES, "nvml_stub.c"),
  ]);
  return {
    library,
    scenario: join(folder.path, "scenario"),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** Writes what the stub answers from. One that is loaded already sees it at the next look. */
export function writeScenario(stub: Pick<Stub, "scenario">, scenario: Scenario): void {
  rmSync(`${stub.scenario}.hanging`, { force: true });
  writeFileSync(`${stub.scenario}.new`, encodeScenario(scenario));
  renameSync(`${stub.scenario}.new`, stub.scenario);
}

/** Writes what the stub answers from and tells the copy of it in this very process where to look. */
export async function loadScenario(stub: Stub, scenario: Scenario): Promise<void> {
  writeScenario(stub, scenario);
  const signature = { args: ["ptr"], returns: "i32" } as const;
  const library = await openLibrary(stub.library, "stub_use_scenario", signature);
  const status = library.find("stub_use_scenario", signature)?.(
    new TextEncoder().encode(`${stub.scenario}\0`),
  );
  if (status !== 0) throw new Error(`Cannot load ${stub.scenario}: the stub answers ${status}`);
}

function encodeScenario(scenario: Scenario): string {
  return [
    `driver ${scenario.driver ?? "580.159.04"}`,
    `library ${scenario.library ?? "13.580.159.04"}`,
    `cuda ${scenario.cuda ?? 13000}`,
    `v3record ${scenario.v3Record ?? 24}`,
    ...encodeOrders(scenario),
    ...scenario.gpus.flatMap(encodeGpu),
    "",
  ].join("\n");
}

function encodeGpu(gpu: ScenarioGpu, index: number): readonly string[] {
  return [
    "gpu",
    `uuid ${gpu.uuid ?? `GPU-0000000${index.toString(16)}-1111-2222-3333-444444444444`}`,
    `name ${escape(gpu.name ?? "NVIDIA H200")}`,
    `bus ${gpu.bus ?? `00000000:${(0x10 + index).toString(16).toUpperCase()}:00.0`}`,
    `minor ${gpu.minor ?? index}`,
    `total ${gpu.totalBytes ?? 150_754_820_096}`,
    `reserved ${gpu.reservedBytes ?? 644_939_776}`,
    `used ${gpu.usedBytes ?? 0}`,
    `persistence ${gpu.persistence ?? 1}`,
    `computemode ${gpu.computeMode ?? 0}`,
    `display ${gpu.display ?? 0}`,
    `utilization ${gpu.utilization ?? 0}`,
    `mig ${gpu.mig?.current ?? 0} ${gpu.mig?.pending ?? 0}`,
    `grows ${gpu.grows ?? 0}`,
    `clears ${gpu.clears ? 1 : 0}`,
    ...(gpu.fields ?? HEALTHY).map(({ id, value, status = 0 }) => `field ${id} ${value} ${status}`),
    ...(gpu.processes ?? []).map(encodeProcess),
    ...(gpu.instances ?? []).map(encodeInstance),
    `accounting ${gpu.accounted ? 1 : 0}`,
    ...(gpu.accounted ?? []).map(encodeAccounted),
    ...encodeHealth(gpu.health ?? {}),
    ...encodeOrders(gpu),
  ];
}

function encodeHealth(health: ScenarioHealth): readonly string[] {
  return [
    `ecc ${(health.ecc ?? [1, 1]).join(" ")}`,
    `uncorrected ${health.uncorrectedErrors ?? 0}`,
    `remapped ${(health.remappedRows ?? [0, 0, 0, 0]).join(" ")}`,
    `retirement ${health.retirementPending ?? 0}`,
    `virtualization ${health.virtualization ?? 0}`,
    `fabric ${(health.fabric ?? [0, 0]).join(" ")}`,
    `smclock ${health.smClock ?? 345}`,
    `architecture ${health.architecture ?? 9}`,
    ...Object.entries(health.links ?? {}).map(([place, { isUp = true, end = 0, bus = "none" }]) =>
      `nvlink ${place} ${isUp ? 1 : 0} ${end} ${bus}`
    ),
  ];
}

function encodeProcess(process: ScenarioProcess): string {
  const list = LISTS.indexOf(process.list ?? "compute");
  const { pid, usedBytes, gpuInstance = NO_INSTANCE, computeInstance = NO_INSTANCE } = process;
  return `process ${list} ${pid} ${usedBytes} ${gpuInstance} ${computeInstance}`;
}

function encodeAccounted(
  { pid, peakBytes, startedAt, isRunning = false, isGone = false }: ScenarioAccounted,
): string {
  return `accounted ${pid} ${peakBytes} ${startedAt} ${isRunning ? 1 : 0} ${isGone ? 1 : 0}`;
}

function encodeInstance(instance: ScenarioInstance): string {
  if ("status" in instance) return `instance ${instance.status} none 0 0 0 0 none`;
  const { uuid, gpuInstance, computeInstance, totalBytes, usedBytes, name } = instance;
  return `instance 0 ${uuid} ${gpuInstance} ${computeInstance} ${totalBytes} ${usedBytes} ${escape(name)}`;
}

function encodeOrders({ fail = {}, hang = [] }: Pick<Scenario, "fail" | "hang">): readonly string[] {
  return [
    ...Object.entries(fail).map(([call, status]) => `fail ${call} ${status}`),
    ...hang.map((call) => `hang ${call}`),
  ];
}

/** Every byte that is not a plain letter, as the stub reads it back. */
function escape(text: string | Uint8Array): string {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return Array.from(
    bytes,
    (byte) =>
      /[\w .:/+-]/.test(String.fromCharCode(byte))
        ? String.fromCharCode(byte)
        : `\\x${byte.toString(16).padStart(2, "0")}`,
  ).join("");
}
