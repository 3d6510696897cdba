/** A snapshot as the plain object that its file holds. `schema/snapshot.ts` has the keys. */
import { mapReading } from "../core/reading.ts";
import { quoteArguments } from "../core/text.ts";
import type { Context, Driver, MigInstance, ProcessList } from "./gpu.ts";
import type { Owner } from "./process.ts";
import { ReasonWriter } from "./reasons.ts";
import type { GhostJson, HolderJson, OwnerJson } from "./schema/holder.ts";
import type { ContextJson, GpuJson, MigInstanceJson, SnapshotJson } from "./schema/snapshot.ts";
import type { Ghost, GpuAccount, Holder, HolderDevice, HolderJob, Host, Snapshot } from "./snapshot.ts";

/** Writes a snapshot as a plain object for JSON; `decodeSnapshot` gives the same snapshot back. */
export function encodeSnapshot(snapshot: Snapshot): SnapshotJson {
  const top = new ReasonWriter("the machine");
  const encoded: Omit<SnapshotJson, "problems"> = {
    schema: "gpuctl.snapshot/1",
    takenAt: top.put(snapshot.takenAt, "takenAt"),
    source: snapshot.source,
    simulated: snapshot.simulated,
    host: encodeHost(snapshot.host, top.within("host", "the host")),
    driver: top.put(
      mapReading(snapshot.driver, (driver) => encodeDriver(driver, top.within("driver", "the driver"))),
      "driver",
    ),
    gpus: snapshot.gpus.map((account, place) =>
      encodeGpu(account, top.within(`gpus/${place}`, `GPU ${account.gpu.index}`))
    ),
    unreadableGpus: snapshot.unreadableGpus.map(({ index, reason: { why, detail } }) => ({
      index,
      why,
      detail: detail ?? null,
    })),
    holders: snapshot.holders.map((holder, place) =>
      encodeHolder(holder, top.within(`holders/${place}`, `PID ${holder.pid}`))
    ),
    ghosts: snapshot.ghosts.map((ghost, place) =>
      encodeGhost(ghost, top.within(`ghosts/${place}`, `ghost PID ${ghost.pid}`))
    ),
  };
  return { ...encoded, problems: top.problems(snapshot.problems) };
}

function encodeHost({ name, bootId, kernel }: Host, to: ReasonWriter): SnapshotJson["host"] {
  return { name: to.put(name, "name"), bootId: to.put(bootId, "bootId"), kernel: to.put(kernel, "kernel") };
}

function encodeDriver(driver: Driver, to: ReasonWriter): NonNullable<SnapshotJson["driver"]> {
  return {
    version: to.put(driver.version, "version"),
    libraryVersion: to.put(driver.libraryVersion, "libraryVersion"),
    cudaVersion: to.put(driver.cudaVersion, "cudaVersion"),
  };
}

function encodeGpu({ gpu, unattributed, cause }: GpuAccount, to: ReasonWriter): GpuJson {
  return {
    index: gpu.index,
    uuid: gpu.uuid,
    name: to.put(gpu.name, "name"),
    busId: to.put(gpu.busId, "busId"),
    minor: to.put(gpu.minor, "minor"),
    memoryTotalBytes: to.put(gpu.memoryTotal, "memoryTotalBytes"),
    memoryUsedBytes: to.put(gpu.memoryUsed, "memoryUsedBytes"),
    memoryReservedBytes: to.put(gpu.memoryReserved, "memoryReservedBytes"),
    memoryFreeBytes: to.put(gpu.memoryFree, "memoryFreeBytes"),
    unattributedBytes: to.put(unattributed, "unattributedBytes"),
    unattributedCause: cause ?? null,
    usedIncludesReserve: to.put(gpu.usedIncludesReserve, "usedIncludesReserve"),
    utilizationPercent: to.put(gpu.utilization, "utilizationPercent"),
    persistenceMode: to.put(gpu.persistenceMode, "persistenceMode"),
    computeMode: to.put(gpu.computeMode, "computeMode"),
    displayActive: to.put(gpu.displayActive, "displayActive"),
    migMode: to.put(mapReading(gpu.migMode, ({ current, pending }) => ({ current, pending })), "migMode"),
    migInstances: to.put(
      mapReading(
        gpu.migInstances,
        (instances) =>
          instances.map((instance, place) =>
            encodeMigInstance(instance, to.within(`migInstances/${place}`, `MIG device ${instance.uuid}`))
          ),
      ),
      "migInstances",
    ),
    recoveryAction: to.put(gpu.recoveryAction, "recoveryAction"),
    ...encodeProcessList(gpu.processList, to),
  };
}

function encodeProcessList(list: ProcessList, to: ReasonWriter): Pick<GpuJson, "processList" | "contexts"> {
  if (list.state === "unknown") return { processList: "unknown", contexts: to.put(list.reason, "contexts") };
  // Why a list is incomplete stands at the place of the list, though that is not null.
  if (list.state === "incomplete") to.put(list.reason, "contexts");
  const contexts = list.contexts.map((context, place) =>
    encodeContext(context, to.within(`contexts/${place}`, `the context of PID ${context.pid}`))
  );
  return { processList: list.state, contexts };
}

function encodeContext(context: Context, to: ReasonWriter): ContextJson {
  return {
    pid: context.pid,
    kind: context.kind,
    contextBytes: to.put(context.used, "contextBytes"),
    gpuInstance: context.gpuInstance ?? null,
    computeInstance: context.computeInstance ?? null,
    name: context.name ?? null,
  };
}

function encodeMigInstance(instance: MigInstance, to: ReasonWriter): MigInstanceJson {
  return {
    uuid: instance.uuid,
    gpuInstance: to.put(instance.gpuInstance, "gpuInstance"),
    computeInstance: to.put(instance.computeInstance, "computeInstance"),
    profile: to.put(instance.profile, "profile"),
    memoryTotalBytes: to.put(instance.memoryTotal, "memoryTotalBytes"),
    memoryUsedBytes: to.put(instance.memoryUsed, "memoryUsedBytes"),
  };
}

/** Writes one holder as any document of ours has it. */
export function encodeHolder(holder: Holder, to: ReasonWriter): HolderJson {
  return {
    pid: holder.pid,
    startTicks: to.put(holder.startTicks, "startTicks"),
    uid: to.put(holder.uid, "uid"),
    user: to.put(holder.user, "user"),
    command: to.put(mapReading(holder.argv, quoteArguments), "command"),
    name: holder.name,
    state: to.put(holder.state, "state"),
    threads: to.put(holder.threads, "threads"),
    parentPid: to.put(holder.parentPid, "parentPid"),
    owner: to.put(mapReading(holder.owner, encodeOwner), "owner"),
    job: holder.job === undefined ? null : encodeHolderJob(holder.job),
    class: holder.class,
    evidence: [...holder.evidence],
    advice: holder.advice,
    devices: holder.devices.map((device, place) =>
      encodeDevice(device, to.within(`devices/${place}`, `PID ${holder.pid} on ${device.gpu}`))
    ),
  };
}

function encodeHolderJob({ launcher, name, firstPid, rank }: HolderJob): HolderJson["job"] {
  return { launcher, name: name ?? null, firstPid, rank: rank ?? null };
}

function encodeDevice(
  { gpu, contextBytes, isOpen, isMapped }: HolderDevice,
  to: ReasonWriter,
): HolderJson["devices"][number] {
  return {
    gpu,
    contextBytes: to.put(contextBytes, "contextBytes"),
    open: to.put(isOpen, "open"),
    mapped: to.put(isMapped, "mapped"),
  };
}

/** Writes one ghost as any document of ours has it. */
export function encodeGhost({ pid, gpu, contextBytes, likelyHolders }: Ghost, to: ReasonWriter): GhostJson {
  return {
    pid,
    gpu,
    contextBytes: to.put(contextBytes, "contextBytes"),
    likelyHolders: likelyHolders.map(({ pid, reasons }) => ({ pid, reasons: [...reasons] })),
  };
}

/** Writes whose a process is. */
export function encodeOwner({ cgroup, isCgroupDeleted, container, ...names }: Owner): OwnerJson {
  return {
    cgroup,
    cgroupDeleted: isCgroupDeleted,
    unit: names.unit ?? null,
    loginSession: names.loginSession ?? null,
    container: container === undefined
      ? null
      : { id: container.id, runtime: container.runtime, monitor: container.isMonitor },
    pod: names.pod ?? null,
    slurmJob: names.slurmJob ?? null,
    slurmStep: names.slurmStep ?? null,
  };
}
