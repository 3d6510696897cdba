/** Who is on a GPU in a snapshot, and who was not before. */
import type { GpuIndex, GpuUuid, Pid } from "../core/ids.ts";
import { nameIndexes } from "../core/ranges.ts";
import type { Leftover } from "../model/diff.ts";
import type { Holder, Snapshot } from "../model/snapshot.ts";
import { isSameProcess } from "./diff_comparison.ts";

/** Two looks at one machine. */
export interface Looks {
  readonly before: Snapshot;
  readonly after: Snapshot;
}

/**
 * Who keeps what the driver lists under a pid: the process itself while it lives, its likely holders once it is dead. Who
 * was on the GPU before that pid came can only have imported a part of it (CUDA IPC), and is not blamed for it.
 */
export function keepersOf(pid: Pid, uuid: GpuUuid, looks: Looks): Pid[] {
  const { after } = looks;
  if (after.holders.some((holder) => holder.pid === pid)) return [pid];
  return likelyKeepers(pid, uuid, after).filter((keeper) => !wasThere(keeper, uuid, looks));
}

/** Who may have imported what the driver lists under a dead pid: they had the GPU mapped before, and cannot be told from bystanders. */
export function bystandersOf(pid: Pid, uuid: GpuUuid, looks: Looks): Pid[] {
  return likelyKeepers(pid, uuid, looks.after).filter((keeper) => wasThere(keeper, uuid, looks));
}

function likelyKeepers(pid: Pid, uuid: GpuUuid, { ghosts }: Snapshot): Pid[] {
  return ghosts.filter((ghost) => ghost.pid === pid && ghost.gpu === uuid)
    .flatMap(({ likelyHolders }) => likelyHolders.map((keeper) => keeper.pid));
}

/** Whether the same process had the GPU mapped before. */
function wasThere(pid: Pid, uuid: GpuUuid, { before, after }: Looks): boolean {
  return before.holders.some((holder) => holder.pid === pid && isMappedOn(holder, uuid)) &&
    isSameProcess(pid, before, after);
}

/** Processes that have a GPU mapped now and had not before, the job's left out: each may cost some MiB there. */
export function newcomersOn(
  uuid: GpuUuid,
  { before, after }: Looks,
  isJobs: (pid: Pid) => boolean,
): Holder[] {
  const earlier = new Set(before.holders.filter((holder) => isMappedOn(holder, uuid)).map(({ pid }) => pid));
  return after.holders.filter((holder) =>
    isMappedOn(holder, uuid) && !earlier.has(holder.pid) && !isJobs(holder.pid)
  );
}

/** Whether a process is known to have a GPU's device mapped. */
export function isMappedOn(holder: Holder, uuid: GpuUuid): boolean {
  return holder.devices.some(({ gpu, isMapped }) => gpu === uuid && isMapped.ok && isMapped.value);
}

/** Why a process is named, on one GPU: what stands before and after the GPU in the sentence. */
export interface Reason {
  readonly pid: Pid;
  readonly gpu: GpuIndex;
  readonly before: string;
  readonly after: string;
}

/** Puts the reasons to name a process together, each live process once. What is the same on several GPUs is said once. */
export function collectLeftovers(
  reasons: readonly Reason[],
  after: Snapshot,
  isJobs: (pid: Pid) => boolean,
): Leftover[] {
  return [...new Set(reasons.map(({ pid }) => pid))].flatMap((pid): Leftover[] => {
    const holder = after.holders.find((holder) => holder.pid === pid);
    const own = reasons.filter((reason) => reason.pid === pid);
    return holder ? [{ holder, isJobs: isJobs(pid), why: sayReasons(own).join("; ") }] : [];
  });
}

function sayReasons(reasons: readonly Reason[]): string[] {
  const alike = new Map<string, Reason[]>();
  for (const reason of reasons) {
    const key = JSON.stringify([reason.before, reason.after]);
    alike.set(key, [...alike.get(key) ?? [], reason]);
  }
  return [...alike.values()].map((same) => {
    const [{ before, after } = { before: "", after: "" }] = same;
    return `${before}${nameIndexes(same.map(({ gpu }) => gpu))}${after}`;
  });
}
