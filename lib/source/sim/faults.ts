/** What is wrong with a simulated server, as its TOML file says it. */
import { parse as parseToml, TomlError } from "smol-toml";
import * as v from "valibot";
import { nearest } from "../../core/text.ts";
import { type Bytes, type Milliseconds, parseDuration, parseSize } from "../../core/units.ts";
import { RECOVERY_ACTIONS, type RecoveryAction } from "../../model/gpu.ts";
import { DOCTOR_ENTRIES, type DoctorFaults, nameDoctor } from "./doctor_faults.ts";
import { madeBy } from "./fields.ts";
import {
  GPU_RESET_ENTRIES,
  type GpuResetFaults,
  MACHINE_ENTRIES,
  type MachineFaults,
  MODULE_KEYS,
  nameGpuReset,
  nameMachine,
  SERVICE_KEYS,
} from "./reset_faults.ts";

/** A MIG device that a GPU has been divided into. */
export interface MigFault {
  readonly gpuInstance: number;
  readonly computeInstance: number;
  /** Such as `1g.18gb`. */
  readonly profile: string;
  readonly memory: Bytes;
}

/** What is wrong, or merely different, with one GPU. */
export interface GpuFaults {
  /** It has fallen off the bus. */
  readonly isLost: boolean;
  readonly recoveryAction: RecoveryAction;
  /** `denied` to everybody; `truncated` leaves out the second half. */
  readonly processList: "whole" | "denied" | "truncated";
  /** Used by nobody that the driver lists. */
  readonly unattributed: Bytes;
  /** Utilization stays at 100 % though nothing runs. */
  readonly isUtilizationLatched: boolean;
  /** Jobs are clients of an MPS server. */
  readonly hasMps: boolean;
  readonly name?: string;
  readonly memory?: Bytes;
  /** Empty where MIG is off. */
  readonly mig: readonly MigFault[];
  readonly reset: GpuResetFaults;
}

/** What is wrong with a server. */
export interface Faults {
  /** The driver never answers. */
  readonly hangs: boolean;
  /** How long every answer of the driver takes beside its own time. */
  readonly latency: Milliseconds;
  /** `v1` counts the driver's reserve as used, as nvmlDeviceGetMemoryInfo does. */
  readonly memoryApi: "v1" | "v2";
  /** GPUs in the order in which CUDA numbers them unless CUDA_DEVICE_ORDER is PCI_BUS_ID; the driver's without one. */
  readonly cudaOrder?: readonly number[];
  readonly gpus: ReadonlyMap<number, GpuFaults>;
  readonly machine: MachineFaults;
  readonly doctor: DoctorFaults;
}

const SMALL_NUMBER = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(999));
const SIZE = madeBy(v.string(), parseSize);

const MIG_KEYS = v.strictObject({
  "gpu-instance": SMALL_NUMBER,
  "compute-instance": v.optional(SMALL_NUMBER, 0),
  profile: v.string(),
  memory: SIZE,
});
const GPU_KEYS = v.strictObject({
  ...GPU_RESET_ENTRIES,
  lost: v.optional(v.boolean(), false),
  "recovery-action": v.optional(v.picklist(RECOVERY_ACTIONS), "none"),
  "process-list": v.optional(v.picklist(["whole", "denied", "truncated"]), "whole"),
  unattributed: v.optional(SIZE, "0"),
  "utilization-latch": v.optional(v.boolean(), false),
  mps: v.optional(v.boolean(), false),
  name: v.exactOptional(v.pipe(v.string(), v.minLength(1))),
  memory: v.exactOptional(SIZE),
  mig: v.optional(v.array(v.pipe(MIG_KEYS, v.transform(nameMig))), []),
});
const GPU_SCHEMA = v.pipe(GPU_KEYS, v.transform(nameGpu));
const SERVER_KEYS = v.strictObject({
  ...MACHINE_ENTRIES,
  ...DOCTOR_ENTRIES,
  hang: v.optional(v.boolean(), false),
  latency: v.optional(madeBy(v.string(), parseDuration), "0ms"),
  "memory-api": v.optional(v.picklist(["v1", "v2"]), "v2"),
  "cuda-order": v.exactOptional(v.array(SMALL_NUMBER)),
  gpu: v.optional(
    v.record(
      v.pipe(v.string(), v.regex(/^\d{1,3}$/, "expected a GPU's index, as in [gpu.0]")),
      GPU_SCHEMA,
    ),
    {},
  ),
});

/** A GPU of which the file says nothing. */
export const SOUND: GpuFaults = v.parse(GPU_SCHEMA, {});

/** Checks the keys and values of a faults table and gives them their names in the program. */
export const FAULTS_SCHEMA = v.pipe(SERVER_KEYS, v.transform(nameServer));

/** A faults table as TOML or JSON has it, found to be good. */
export type FaultsTable = v.InferInput<typeof FAULTS_SCHEMA>;

/**
 * Reads a faults file and returns its table as it stands there, found to be good.
 *
 * @throws {SyntaxError} with the place in the file, and the right key nearest to a wrong one.
 */
export function parseFaults(text: string): FaultsTable {
  const table = parseTable(text);
  if (v.is(FAULTS_SCHEMA, table)) return table;
  const { issues } = v.safeParse(FAULTS_SCHEMA, table);
  throw new SyntaxError(issues ? describeIssue(issues) : "cannot be read");
}

function parseTable(text: string): unknown {
  try {
    return parseToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = ""] = error.message.split("\n");
    const what = first.replace(/^Invalid TOML document: /, "");
    throw new SyntaxError(`line ${error.line}, column ${error.column}: ${what}`, { cause: error });
  }
}

type Issue = v.InferIssue<typeof FAULTS_SCHEMA>;

/** A wrong key comes first: a missing one is often the same mistake seen from its other side. */
function describeIssue(issues: readonly [Issue, ...Issue[]]): string {
  const issue = issues.find(({ type, expected }) => type === "strict_object" && expected === "never") ??
    issues[0];
  const path = (issue.path ?? []).map(({ key }) => String(key));
  const place = path.join(".");
  if (issue.type !== "strict_object" || issue.expected !== "never") return `${place}: ${issue.message}`;
  const wrong = path.at(-1) ?? "";
  const near = nearest(wrong, keysAt(path));
  return `${place}: there is no such key${near === undefined ? "" : `; did you mean ${near}?`}`;
}

/** The keys that the table around a key may have: at the top, in modules.N, services.N, gpu.N and gpu.N.mig.M. */
function keysAt(path: readonly string[]): string[] {
  if (path.length === 1) return Object.keys(SERVER_KEYS.entries);
  if (path[0] === "modules") return Object.keys(MODULE_KEYS.entries);
  if (path[0] === "services") return Object.keys(SERVICE_KEYS.entries);
  return Object.keys(path.length === 3 ? GPU_KEYS.entries : MIG_KEYS.entries);
}

function nameMig(keys: v.InferOutput<typeof MIG_KEYS>): MigFault {
  return {
    gpuInstance: keys["gpu-instance"],
    computeInstance: keys["compute-instance"],
    profile: keys.profile,
    memory: keys.memory,
  };
}

function nameGpu(keys: v.InferOutput<typeof GPU_KEYS>): GpuFaults {
  return {
    isLost: keys.lost,
    recoveryAction: keys["recovery-action"],
    processList: keys["process-list"],
    unattributed: keys.unattributed,
    isUtilizationLatched: keys["utilization-latch"],
    hasMps: keys.mps,
    ...keys.name !== undefined && { name: keys.name },
    ...keys.memory !== undefined && { memory: keys.memory },
    mig: keys.mig,
    reset: nameGpuReset(keys),
  };
}

function nameServer(keys: v.InferOutput<typeof SERVER_KEYS>): Faults {
  return {
    hangs: keys.hang,
    latency: keys.latency,
    memoryApi: keys["memory-api"],
    ...keys["cuda-order"] && { cudaOrder: keys["cuda-order"] },
    gpus: new Map(Object.entries(keys.gpu).map(([index, faults]) => [Number(index), faults])),
    machine: nameMachine(keys),
    doctor: nameDoctor(keys),
  };
}
