/** Who is on a GPU in a snapshot, and who was not before. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import type { Leftover } from "../model/diff.ts";
import type { Holder, Snapshot } from "../model/snapshot.ts";

/** Two looks at one machine. */
export interface Looks {
  readonly before: Snapshot;
  readonly after: Snapshot;
}

/** Who keeps what the driver lists under a pid: the process itself while it lives, its likely holders once it is dead. */
export function keepersOf(pid: Pid, uuid: GpuUuid, snapshot: Snapshot): Pid[] {
  if (snapshot.holders.some((holder) => holder.pid === pid)) return [pid];
  return snapshot.ghosts.filter((ghost) => ghost.pid === pid && ghost.gpu === uuid)
    .flatMap(({ likelyHolders }) => likelyHolders.map((keeper) => keeper.pid));
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

/** Puts the reasons to name a process together, each live process once. */
export function collectLeftovers(
  reasons: Iterable<readonly [Pid, string]>,
  after: Snapshot,
  isJobs: (pid: Pid) => boolean,
): Leftover[] {
  const collected = new Map<Pid, string[]>();
  for (const [pid, why] of reasons) collected.set(pid, [...collected.get(pid) ?? [], why]);
  return [...collected].flatMap(([pid, whys]): Leftover[] => {
    const holder = after.holders.find((holder) => holder.pid === pid);
    return holder ? [{ holder, isJobs: isJobs(pid), why: whys.join("; ") }] : [];
  });
}
