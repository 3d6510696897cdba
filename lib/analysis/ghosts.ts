/** Who keeps the memory of a dead process: the driver's list will never say. */
import type { Pid } from "../core/ids.ts";
import { nameIndexes } from "../core/ranges.ts";
import type { DeviceUse, ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import type { LikelyHolder } from "../model/snapshot.ts";
import { type DeadContext, type Facts, isHeir } from "./facts.ts";
import { ancestorsOf, isAdopter, isReaper, parentOf } from "./lineage.ts";

/** Pids of processes that live and have a context of their own. Who shares descriptors with one belongs to it. */
export type LiveOwners = ReadonlySet<Pid>;

/**
 * Says why a process may be what keeps a dead process's memory, strongest reason first; none when it cannot be.
 *
 * It must have the GPU mapped, which a mere monitor never has, and must not share its descriptors with a live owner: it
 * would be a part of that job.
 */
export function reasonsToHold(facts: Facts, dead: DeadContext, owners: LiveOwners): string[] {
  if (!facts.deadContexts.includes(dead) || facts.driverUse !== "client") return [];
  if (livingOwnerOf(facts, owners) !== undefined) return [];
  const { process, contexts } = facts;
  const index = dead.gpu.index;
  if (contexts.some(({ gpu }) => gpu.uuid === dead.gpu.uuid)) {
    return [
      `has GPU ${index} mapped beside a context of its own: it may have imported the memory (CUDA IPC)`,
    ];
  }
  const reasons = [`has GPU ${index} mapped and no context of its own there`];
  if (facts.hasInheritedDescriptors) {
    reasons.push("has the driver's descriptors and never started the driver itself: they are inherited");
  }
  if (process.processGroup === dead.context.pid) {
    reasons.push(`is in the process group of PID ${dead.context.pid}`);
  }
  if (process.session === dead.context.pid) reasons.push(`is in the session of PID ${dead.context.pid}`);
  const parent = parentOf(process, facts.scan);
  if (parent && (parent.pid === 1 || isAdopter(parent))) {
    reasons.push(`lost its parent: it now belongs to PID ${parent.pid} (${parent.comm})`);
  }
  return reasons;
}

/**
 * The dead contexts whose memory a process is proven to keep: it inherited a context, lost the process that forked it,
 * and cannot be a part of a job that lives.
 */
export function findKept(facts: Facts, owners: LiveOwners): readonly DeadContext[] {
  if (!hasLostForker(facts) || mayShareWithOwner(facts.process, facts.scan, owners)) return [];
  return findPossiblyKept(facts, owners);
}

/** The dead contexts whose memory a process may keep, as far as its own descriptors tell. Less than proof. */
export function findPossiblyKept(facts: Facts, owners: LiveOwners): readonly DeadContext[] {
  if (facts.contexts.length > 0 || !facts.hasInheritedDescriptors) return [];
  return facts.deadContexts.filter((dead) => reasonsToHold(facts, dead, owners).length > 0);
}

/** The live process with a context of its own that shares a driver's descriptor with this one, or is its ancestor. */
export function livingOwnerOf({ process, scan }: Facts, owners: LiveOwners): Pid | undefined {
  return findSharer(process, scan, owners) ??
    ancestorsOf(process, scan).find(({ pid }) => owners.has(pid))?.pid;
}

/**
 * Says whether a process may be what a live owner forked, whoever its parent is now. Arguments, titles and variables pass
 * on with fork(2) as well, and say nothing about such a process.
 */
export function mayBeForkedByOwner(process: Process, scan: ProcessScan, owners: LiveOwners): boolean {
  if (owners.has(process.pid) || !isHeir(process.pid, scan)) return false;
  return findSharer(process, scan, owners) !== undefined || mayShareWithOwner(process, scan, owners);
}

/** The live processes that may keep one ghost's memory, the likeliest first. */
export function findLikelyHolders(
  dead: DeadContext,
  all: readonly Facts[],
  owners: LiveOwners,
): LikelyHolder[] {
  return all.map((facts) => ({ pid: facts.process.pid, reasons: reasonsToHold(facts, dead, owners) }))
    .filter(({ reasons }) => reasons.length > 0)
    .sort((a, b) => b.reasons.length - a.reasons.length || a.pid - b.pid);
}

/** Names the dead pids and their GPUs: `PID 794 is dead and still listed with memory on GPU 0`. */
export function describeDead(dead: readonly DeadContext[]): string {
  const pids = [...new Set(dead.map(({ context }) => context.pid))].join(", ");
  const gpus = nameIndexes(dead.map(({ gpu }) => gpu.index));
  return `PID ${pids} ${pids.includes(",") ? "are" : "is"} dead and still listed with memory on ${gpus}`;
}

/** Whoever forked an heir had the mappings too. It is gone if whoever has none has adopted the first of a line of heirs. */
function hasLostForker({ process, scan, deadContexts }: Facts): boolean {
  const line = [process, ...ancestorsOf(process, scan)];
  const parent = line.find((each) => !isHeir(each.pid, scan));
  if (parent === undefined || mappedMinors(scan.uses.get(parent.pid)).length > 0) return false;
  if (parent.pid === scan.reader.pid || isReaper(parent, scan)) return true;
  // A shell or a slurmstepd takes orphans in only where it was told to, and starts jobs of its own.
  return isAdopter(parent) &&
    deadContexts.some(({ context: { pid } }) => pid === process.processGroup || pid === process.session);
}

function findSharer({ pid }: Process, scan: ProcessScan, owners: LiveOwners): Pid | undefined {
  const shared = scan.sharedWith.get(pid);
  return shared?.ok ? shared.value.find((other) => owners.has(other) || mayOwn(other, scan)) : undefined;
}

/**
 * Says whether too little is seen of a sharer to rule it out as the owner. Neither an heir is one, nor a program that
 * was started with the descriptors open: execve(2) keeps them and drops every mapping.
 */
function mayOwn(sharer: Pid, scan: ProcessScan): boolean {
  if (isHeir(sharer, scan)) return false;
  const uses = scan.uses.get(sharer);
  return uses === undefined || !uses.every(({ mappings }) => mappings.ok && mappings.value === 0);
}

/** Says whether it was not ruled out that a live owner shares the process's descriptors. */
function mayShareWithOwner(process: Process, scan: ProcessScan, owners: LiveOwners): boolean {
  if (scan.coverage.cutShort) return true;
  if (scan.sharedWith.get(process.pid)?.ok) return false;
  const mapped = mappedMinors(scan.uses.get(process.pid));
  return [...owners, ...scan.uses.keys()].some((pid) => {
    if (isHeir(pid, scan)) return false;
    const theirs = scan.uses.get(pid);
    return theirs === undefined || mappedMinors(theirs).some((minor) => mapped.includes(minor));
  });
}

/** GPUs that a process has mapped, or may have. */
function mappedMinors(uses: readonly DeviceUse[] = []): number[] {
  return uses.flatMap(({ node, mappings }) =>
    node.kind === "gpu" && !(mappings.ok && mappings.value === 0) ? [node.minor] : []
  );
}
