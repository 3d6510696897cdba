/** The snapshot file as others read it: every key with its unit in its name. Free of transforms, so it has a JSON Schema. */
import * as v from "valibot";
import { WHYS } from "../core/reading.ts";
import { COMPUTE_MODES, CONTEXT_KINDS, RECOVERY_ACTIONS } from "./gpu.ts";
import { PROCESS_STATES } from "./process.ts";
import { HOLDER_CLASSES, SOURCE_NAMES } from "./snapshot.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const SNAPSHOT_SCHEMA_NAME = "gpuctl.snapshot/1";

// Each message completes the sentence "/gpus/0/index must be ...".
const TEXT = v.string("text");
const NULLABLE_TEXT = v.nullable(TEXT);
const FLAG = v.boolean("true or false");
const COUNT = wholeNumber(Number.MAX_SAFE_INTEGER, "a whole number from 0 to 2^53 - 1");
const PID = v.pipe(
  wholeNumber(4_194_304, "a pid from 1 to 4194304"),
  v.minValue(1, "a pid from 1 to 4194304"),
);
const UID = wholeNumber(0xffff_ffff, "a uid from 0 to 2^32 - 1");
const GPU_INDEX = wholeNumber(65_535, "a GPU index from 0 to 65535");
const MINOR = wholeNumber(0xfffff, "a device minor from 0 to 2^20 - 1");
const UUID = v.pipe(
  v.string("a GPU UUID"),
  v.minLength(1, "a GPU UUID of 1 to 96 characters"),
  v.maxLength(96, "a GPU UUID of 1 to 96 characters"),
);
const BUS_ID = v.pipe(
  v.string("a PCI address"),
  v.regex(/^[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/, "a PCI address such as 00000000:c1:00.0"),
);
const INSTANT = v.pipe(
  v.string("a time"),
  v.regex(
    /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/,
    "a time in UTC such as 2026-11-30T12:00:00Z",
  ),
);
const PERCENT_PHRASE = "a percentage from 0 to 100";
const PERCENT = v.pipe(
  v.number(PERCENT_PHRASE),
  v.minValue(0, PERCENT_PHRASE),
  v.maxValue(100, PERCENT_PHRASE),
);

const CONTEXT = record({
  pid: described(PID, "May be dead: it names who allocated, not who holds"),
  kind: oneOf(CONTEXT_KINDS),
  contextBytes: v.nullable(COUNT),
  gpuInstance: described(v.nullable(COUNT), "MIG GPU instance; null without MIG"),
  computeInstance: described(v.nullable(COUNT), "MIG compute instance; null without MIG"),
  name: described(NULLABLE_TEXT, "The name that the source printed beside the pid; null if it prints none"),
});

const MIG_INSTANCE = record({
  uuid: UUID,
  gpuInstance: v.nullable(COUNT),
  computeInstance: v.nullable(COUNT),
  profile: NULLABLE_TEXT,
  memoryTotalBytes: v.nullable(COUNT),
  memoryUsedBytes: v.nullable(COUNT),
});

const GPU = record({
  index: described(GPU_INDEX, "May change with a reboot; compare by uuid"),
  uuid: UUID,
  name: NULLABLE_TEXT,
  busId: v.nullable(BUS_ID),
  minor: described(v.nullable(MINOR), "The N of /dev/nvidiaN; need not equal the index"),
  memoryTotalBytes: v.nullable(COUNT),
  memoryUsedBytes: v.nullable(COUNT),
  memoryReservedBytes: v.nullable(COUNT),
  memoryFreeBytes: v.nullable(COUNT),
  unattributedBytes: described(v.nullable(COUNT), "Used bytes that no context explains"),
  unattributedCause: described(NULLABLE_TEXT, "The likely cause; null when there is nothing to explain"),
  usedIncludesReserve: described(
    v.nullable(FLAG),
    "Whether memoryUsedBytes counts the driver's reserve; never compare across",
  ),
  utilizationPercent: v.nullable(PERCENT),
  persistenceMode: v.nullable(FLAG),
  computeMode: v.nullable(oneOf(COMPUTE_MODES)),
  displayActive: v.nullable(FLAG),
  migMode: v.nullable(record({ current: FLAG, pending: FLAG })),
  migInstances: v.nullable(list(MIG_INSTANCE)),
  recoveryAction: v.nullable(oneOf(RECOVERY_ACTIONS)),
  processList: described(
    oneOf(["known", "incomplete", "unknown"]),
    "What `contexts` is worth. The reason stands in problems, at the place of `contexts`",
  ),
  contexts: described(v.nullable(list(CONTEXT)), "null, never [], when the list is unknown"),
});

const OWNER = record({
  cgroup: TEXT,
  cgroupDeleted: described(FLAG, "The cgroup was removed while the process lives on"),
  unit: described(NULLABLE_TEXT, "null, as for all that follow, when the cgroup path names none"),
  loginSession: NULLABLE_TEXT,
  container: v.nullable(record({
    id: TEXT,
    runtime: oneOf(["docker", "containerd", "cri-o", "podman", "lxc", "nspawn", "unknown"]),
    monitor: described(FLAG, "A helper beside the container, not its payload"),
  })),
  pod: NULLABLE_TEXT,
  slurmJob: NULLABLE_TEXT,
  slurmStep: NULLABLE_TEXT,
});

const HOLDER = record({
  pid: PID,
  startTicks: described(
    v.nullable(COUNT),
    "Clock ticks from boot to its start; with pid and bootId it is unique",
  ),
  uid: v.nullable(UID),
  user: NULLABLE_TEXT,
  command: described(NULLABLE_TEXT, "Its arguments, quoted for a POSIX shell"),
  name: described(TEXT, "Its short name, which it chooses itself"),
  state: described(v.nullable(oneOf(PROCESS_STATES)), "State letter of proc_pid_stat(5)"),
  threads: v.nullable(COUNT),
  parentPid: v.nullable(COUNT),
  owner: v.nullable(OWNER),
  class: oneOf(HOLDER_CLASSES),
  evidence: described(list(TEXT), "What was seen that makes it so"),
  advice: described(TEXT, "The one next thing to do"),
  devices: list(record({
    gpu: UUID,
    contextBytes: v.nullable(COUNT),
    open: v.nullable(FLAG),
    mapped: v.nullable(FLAG),
  })),
});

const GHOST = record({
  pid: PID,
  gpu: UUID,
  contextBytes: v.nullable(COUNT),
  likelyHolders: list(record({ pid: PID, reasons: list(TEXT) })),
});

const PROBLEM = record({
  at: described(
    NULLABLE_TEXT,
    "JSON Pointer (RFC 6901) to the missing value; null for what concerns several",
  ),
  subject: TEXT,
  why: oneOf(WHYS),
  detail: described(NULLABLE_TEXT, "A path, a status name, the source's own words; null if there are none"),
  message: TEXT,
});

/** A snapshot file. A missing value is null, and its reason stands in `problems`. */
export const SNAPSHOT_SCHEMA = record({
  schema: v.literal(SNAPSHOT_SCHEMA_NAME, SNAPSHOT_SCHEMA_NAME),
  takenAt: described(v.nullable(INSTANT), "null where a saved text gives no time, or none of a known zone"),
  source: oneOf(SOURCE_NAMES),
  simulated: FLAG,
  host: record({ name: NULLABLE_TEXT, bootId: NULLABLE_TEXT, kernel: NULLABLE_TEXT }),
  driver: v.nullable(
    record({ version: NULLABLE_TEXT, libraryVersion: NULLABLE_TEXT, cudaVersion: NULLABLE_TEXT }),
  ),
  gpus: list(GPU),
  holders: list(HOLDER),
  ghosts: list(GHOST),
  problems: list(PROBLEM),
});

export type SnapshotJson = v.InferOutput<typeof SNAPSHOT_SCHEMA>;
export type GpuJson = v.InferOutput<typeof GPU>;
export type ContextJson = v.InferOutput<typeof CONTEXT>;
export type MigInstanceJson = v.InferOutput<typeof MIG_INSTANCE>;
export type HolderJson = v.InferOutput<typeof HOLDER>;
export type OwnerJson = v.InferOutput<typeof OWNER>;
export type GhostJson = v.InferOutput<typeof GHOST>;
export type ProblemJson = v.InferOutput<typeof PROBLEM>;

function wholeNumber(most: number, phrase: string) {
  return v.pipe(v.number(phrase), v.safeInteger(phrase), v.minValue(0, phrase), v.maxValue(most, phrase));
}

function oneOf<const Words extends readonly string[]>(words: Words) {
  return v.picklist(words, `one of ${words.join(", ")}`);
}

/** Keys that are not listed are passed over: a newer minor version may have more. */
function record<const Entries extends v.ObjectEntries>(entries: Entries) {
  return v.object(entries, "an object");
}

function list<const Item extends v.GenericSchema>(item: Item) {
  return v.array(item, "a list");
}

function described<const Schema extends v.GenericSchema>(schema: Schema, text: string) {
  return v.pipe(schema, v.description(text));
}
