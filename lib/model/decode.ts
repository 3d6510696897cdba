/** Snapshot files back into snapshots. What a file says is checked value by value before anything is built from it. */
import { safeParse } from "valibot";
import { deviceMinor, gpuIndex, gpuUuid, parseBusId, pid, uid } from "../core/ids.ts";
import { absent, mapReading } from "../core/reading.ts";
import { printable, splitArguments, truncate } from "../core/text.ts";
import { bytes, clockTicks, percent } from "../core/units.ts";
import type { Context, Driver, Gpu, MigInstance, ProcessList } from "./gpu.ts";
import type { Owner } from "./process.ts";
import { ReasonBook, ReasonReader } from "./reasons.ts";
import type { GhostJson, HolderJson, OwnerJson } from "./schema/holder.ts";
import {
  type ContextJson,
  type GpuJson,
  type MigInstanceJson,
  SNAPSHOT_SCHEMA,
  SNAPSHOT_SCHEMA_NAME,
  type SnapshotJson,
} from "./schema/snapshot.ts";
import type { Ghost, GpuAccount, Holder, HolderDevice, HolderJob, Snapshot } from "./snapshot.ts";

/**
 * Reads the text of a snapshot file.
 *
 * @throws {SyntaxError} if it is not JSON, or not a snapshot.
 */
export function parseSnapshot(text: string): Snapshot {
  return decodeSnapshot(parseJson(text));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // Broken text is a SyntaxError; nesting too deep for the parser's stack is a RangeError in one runtime.
    throw new SyntaxError("Cannot parse snapshot: it is not JSON, or not all of it", { cause });
  }
}

/**
 * Builds a snapshot from the plain object that its file holds. Keys that it does not know are passed over.
 *
 * @throws {SyntaxError} if it is another schema, or a value is not what the schema says; the message names it.
 */
export function decodeSnapshot(value: unknown): Snapshot {
  const json = checkSnapshot(value);
  const book = new ReasonBook(json.problems);
  const top = new ReasonReader(book);
  const snapshot = {
    takenAt: top.take(json.takenAt, "takenAt"),
    source: json.source,
    simulated: json.simulated,
    host: decodeHost(json.host, top.within("host")),
    driver: mapReading(
      top.take(json.driver, "driver"),
      (driver) => decodeDriver(driver, top.within("driver")),
    ),
    gpus: json.gpus.map((gpu, place) => decodeAccount(gpu, top.within(`gpus/${place}`))),
    unreadableGpus: (json.unreadableGpus ?? []).map(({ index, why, detail }) => ({
      index: gpuIndex(index),
      reason: absent(why, detail ?? undefined),
    })),
    holders: json.holders.map((holder, place) => decodeHolder(holder, top.within(`holders/${place}`))),
    ghosts: json.ghosts.map((ghost, place) => decodeGhost(ghost, top.within(`ghosts/${place}`))),
  };
  return { ...snapshot, problems: book.rest() };
}

function checkSnapshot(value: unknown): SnapshotJson {
  const name = typeof value === "object" && value !== null && "schema" in value ? value.schema : undefined;
  if (typeof name === "string" && name !== SNAPSHOT_SCHEMA_NAME) {
    throw new SyntaxError(
      `Cannot decode snapshot: its schema is ${
        describe(name)
      }, and this version reads ${SNAPSHOT_SCHEMA_NAME}`,
    );
  }
  // One wrong value is enough to refuse a file; a hostile one may have a million.
  const checked = safeParse(SNAPSHOT_SCHEMA, value, { abortEarly: true });
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const place = issue.path === undefined ? "it" : `/${issue.path.map(({ key }) => String(key)).join("/")}`;
  throw new SyntaxError(
    issue.input === undefined
      ? `Cannot decode snapshot: ${place} is missing`
      : `Cannot decode snapshot: ${place} must be ${issue.message}, and is ${describe(issue.input)}`,
  );
}

const SHOWN_CHARACTERS = 60;

function describe(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  // Cut before it is escaped: the text may be as long as the file.
  return `"${printable(truncate(value.slice(0, 2 * SHOWN_CHARACTERS), SHOWN_CHARACTERS))}"`;
}

function decodeHost(json: SnapshotJson["host"], from: ReasonReader): Snapshot["host"] {
  return {
    name: from.take(json.name, "name"),
    bootId: from.take(json.bootId, "bootId"),
    kernel: from.take(json.kernel, "kernel"),
  };
}

function decodeDriver(json: NonNullable<SnapshotJson["driver"]>, from: ReasonReader): Driver {
  return {
    version: from.take(json.version, "version"),
    libraryVersion: from.take(json.libraryVersion, "libraryVersion"),
    cudaVersion: from.take(json.cudaVersion, "cudaVersion"),
  };
}

function decodeAccount(json: GpuJson, from: ReasonReader): GpuAccount {
  const gpu = decodeGpu(json, from);
  const unattributed = mapReading(from.take(json.unattributedBytes, "unattributedBytes"), bytes);
  return json.unattributedCause === null
    ? { gpu, unattributed }
    : { gpu, unattributed, cause: json.unattributedCause };
}

function decodeGpu(json: GpuJson, from: ReasonReader): Gpu {
  return {
    index: gpuIndex(json.index),
    uuid: gpuUuid(json.uuid),
    name: from.take(json.name, "name"),
    busId: mapReading(from.take(json.busId, "busId"), parseBusId),
    minor: mapReading(from.take(json.minor, "minor"), deviceMinor),
    memoryTotal: mapReading(from.take(json.memoryTotalBytes, "memoryTotalBytes"), bytes),
    memoryUsed: mapReading(from.take(json.memoryUsedBytes, "memoryUsedBytes"), bytes),
    memoryReserved: mapReading(from.take(json.memoryReservedBytes, "memoryReservedBytes"), bytes),
    memoryFree: mapReading(from.take(json.memoryFreeBytes, "memoryFreeBytes"), bytes),
    usedIncludesReserve: from.take(json.usedIncludesReserve, "usedIncludesReserve"),
    utilization: mapReading(from.take(json.utilizationPercent, "utilizationPercent"), percent),
    persistenceMode: from.take(json.persistenceMode, "persistenceMode"),
    computeMode: from.take(json.computeMode, "computeMode"),
    displayActive: from.take(json.displayActive, "displayActive"),
    migMode: from.take(json.migMode, "migMode"),
    migInstances: mapReading(
      from.take(json.migInstances, "migInstances"),
      (instances) =>
        instances.map((instance, place) => decodeMigInstance(instance, from.within(`migInstances/${place}`))),
    ),
    recoveryAction: from.take(json.recoveryAction, "recoveryAction"),
    processList: decodeProcessList(json, from),
  };
}

function decodeProcessList(
  { processList: state, contexts: listed }: GpuJson,
  from: ReasonReader,
): ProcessList {
  // Without its contexts a list is not known, whatever the file says of it.
  if (state === "unknown" || listed === null) {
    return { state: "unknown", reason: from.takeReason("contexts") };
  }
  const contexts = listed.map((context, place) => decodeContext(context, from.within(`contexts/${place}`)));
  return state === "known" ? { state, contexts } : { state, contexts, reason: from.takeReason("contexts") };
}

function decodeContext(json: ContextJson, from: ReasonReader): Context {
  const { pid: number, kind, contextBytes, gpuInstance, computeInstance, name } = json;
  return {
    pid: pid(number),
    kind,
    used: mapReading(from.take(contextBytes, "contextBytes"), bytes),
    ...gpuInstance !== null && { gpuInstance },
    ...computeInstance !== null && { computeInstance },
    ...name !== null && { name },
  };
}

function decodeMigInstance(json: MigInstanceJson, from: ReasonReader): MigInstance {
  return {
    uuid: gpuUuid(json.uuid),
    gpuInstance: from.take(json.gpuInstance, "gpuInstance"),
    computeInstance: from.take(json.computeInstance, "computeInstance"),
    profile: from.take(json.profile, "profile"),
    memoryTotal: mapReading(from.take(json.memoryTotalBytes, "memoryTotalBytes"), bytes),
    memoryUsed: mapReading(from.take(json.memoryUsedBytes, "memoryUsedBytes"), bytes),
  };
}

function decodeHolder(json: HolderJson, from: ReasonReader): Holder {
  return {
    pid: pid(json.pid),
    startTicks: mapReading(from.take(json.startTicks, "startTicks"), clockTicks),
    uid: mapReading(from.take(json.uid, "uid"), uid),
    user: from.take(json.user, "user"),
    argv: mapReading(from.take(json.command, "command"), (command) => decodeCommand(command, json.pid)),
    name: json.name,
    state: from.take(json.state, "state"),
    threads: from.take(json.threads, "threads"),
    parentPid: from.take(json.parentPid, "parentPid"),
    owner: mapReading(from.take(json.owner, "owner"), decodeOwner),
    ...json.job !== null && { job: decodeHolderJob(json.job) },
    class: json.class,
    evidence: json.evidence,
    advice: json.advice,
    devices: json.devices.map((device, place) => decodeDevice(device, from.within(`devices/${place}`))),
  };
}

function decodeCommand(command: string, holder: number): string[] {
  try {
    return splitArguments(command);
  } catch (cause) {
    throw new SyntaxError(`Cannot decode snapshot: the command of PID ${holder} has an open quote`, {
      cause,
    });
  }
}

function decodeOwner(json: OwnerJson): Owner {
  const { cgroup, cgroupDeleted, unit, loginSession, container, pod, slurmJob, slurmStep } = json;
  return {
    cgroup,
    isCgroupDeleted: cgroupDeleted,
    ...unit !== null && { unit },
    ...loginSession !== null && { loginSession },
    ...container !== null &&
      { container: { id: container.id, runtime: container.runtime, isMonitor: container.monitor } },
    ...pod !== null && { pod },
    ...slurmJob !== null && { slurmJob },
    ...slurmStep !== null && { slurmStep },
  };
}

function decodeHolderJob({ launcher, name, firstPid, rank }: NonNullable<HolderJson["job"]>): HolderJob {
  return {
    launcher,
    firstPid: pid(firstPid),
    ...name !== null && { name },
    ...rank !== null && { rank },
  };
}

function decodeDevice(json: HolderJson["devices"][number], from: ReasonReader): HolderDevice {
  return {
    gpu: gpuUuid(json.gpu),
    contextBytes: mapReading(from.take(json.contextBytes, "contextBytes"), bytes),
    isOpen: from.take(json.open, "open"),
    isMapped: from.take(json.mapped, "mapped"),
  };
}

function decodeGhost(json: GhostJson, from: ReasonReader): Ghost {
  return {
    pid: pid(json.pid),
    gpu: gpuUuid(json.gpu),
    contextBytes: mapReading(from.take(json.contextBytes, "contextBytes"), bytes),
    likelyHolders: json.likelyHolders.map((likely) => ({ pid: pid(likely.pid), reasons: likely.reasons })),
  };
}
