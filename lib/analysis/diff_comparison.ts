/** Whether two snapshots can be compared at all, and how far. */
import type { Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import type { Snapshot } from "../model/snapshot.ts";

/**
 * Whether a pid is one process in both snapshots. Without start times, as in saved nvidia-smi text, the pid alone has to
 * do, and `describeComparison` says so; after a reboot no process is the same.
 */
export function isSameProcess(pid: Pid, before: Snapshot, after: Snapshot): boolean {
  if (differ(before.host.bootId, after.host.bootId)) return false;
  return !differ(startOf(pid, before), startOf(pid, after));
}

/** What a reader of the comparison has to know, one sentence each. */
export function describeComparison(before: Snapshot, after: Snapshot): string[] {
  const notes: string[] = [];
  if (differ(before.host.name, after.host.name)) {
    notes.push(`The snapshots are of two machines, ${nameOf(before)} and ${nameOf(after)}.`);
  } else if (differ(before.host.bootId, after.host.bootId)) {
    notes.push(
      "The machine was rebooted between the snapshots: no process of the first one can be in the second.",
    );
  }
  if (after.takenAt.ok && before.takenAt.ok && before.takenAt.value > after.takenAt.value) {
    notes.push("The second snapshot is older than the first.");
  }
  if (before.simulated !== after.simulated) notes.push("Only one of the snapshots is of a simulated server.");
  const shared = before.holders.filter(({ pid }) => after.holders.some((holder) => holder.pid === pid));
  if (shared.some(({ pid }) => !startOf(pid, before)?.ok || !startOf(pid, after)?.ok)) {
    notes.push("Start times are missing: the same pid is taken for the same process.");
  }
  return notes;
}

function startOf(pid: Pid, snapshot: Snapshot): Reading<number> | undefined {
  return snapshot.holders.find((holder) => holder.pid === pid)?.startTicks;
}

/** Whether both are known and not equal. */
function differ<T>(a: Reading<T> | undefined, b: Reading<T> | undefined): boolean {
  return a?.ok === true && b?.ok === true && a.value !== b.value;
}

function nameOf({ host }: Snapshot): string {
  return host.name.ok ? host.name.value : "unknown";
}
