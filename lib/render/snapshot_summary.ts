/** The last lines of a snapshot: the answer to the question that it was taken for. */
import { repeatOption } from "../core/own_commands.ts";
import { formatRanges, nameIndexes } from "../core/ranges.ts";
import { plural } from "../core/text.ts";
import type { UnreadableGpu } from "../model/gpu.ts";
import { isAllSeen, type Snapshot } from "../model/snapshot.ts";
import { wrap } from "./layout.ts";
import { type Concern, CONCERNS, formatSum } from "./snapshot_columns.ts";
import type { TableOptions } from "./table.ts";

const SHOWN_PIDS = 5;

/** Says how much is in use and what is to be done. "Nothing" is said only where all was seen. */
export function summaryLines(snapshot: Snapshot, { width }: TableOptions): string[] {
  const findings = [
    ...sayUnlisted(snapshot),
    ...sayUnattributed(snapshot),
    ...sayHolders(snapshot),
    ...sayGhosts(snapshot),
    ...sayRecovery(snapshot),
  ];
  const answer = findings.length > 0 ? findings : [sayNothing(snapshot)];
  const doubt = findings.length > 0 && !isAllSeen(snapshot)
    ? ["There may be more: not everything could be seen."]
    : [];
  const lines = [...sayUnreadable(snapshot), ...sayUse(snapshot), ...answer, ...doubt];
  return wrap(repeatOption(lines.join(" "), snapshot.sourceOption), { width, label: "" });
}

function sayUnreadable({ gpus, unreadableGpus }: Snapshot): string[] {
  const all = plural(gpus.length + unreadableGpus.length, "GPU");
  const tell = (some: readonly UnreadableGpu[], [one, many]: readonly [string, string], what: string) =>
    some.length === 0 ? [] : [`${some.length} of ${all} ${some.length === 1 ? one : many}: ${what}.`];
  const lost = unreadableGpus.filter(({ reason }) => reason.why === "lost");
  const others = unreadableGpus.filter(({ reason }) => reason.why !== "lost");
  const names = formatRanges(lost.map(({ index }) => index)).join(",");
  return [
    ...tell(lost, ["has fallen off the bus", "have fallen off the bus"], `gpuctl reset-gpu ${names}`),
    ...tell(others, ["cannot be read", "cannot be read"], "gpuctl doctor says why"),
  ];
}

function sayUse({ gpus, unreadableGpus }: Snapshot): string[] {
  if (gpus.length === 0) return unreadableGpus.length === 0 ? ["No GPU was seen."] : [];
  const read = gpus.filter(({ gpu }) => gpu.memoryUsed.ok);
  if (read.length === 0) return [`Memory in use on ${plural(gpus.length, "GPU")} is not known.`];
  const used = read.flatMap(({ gpu }) => gpu.memoryUsed.ok ? [gpu.memoryUsed.value] : []);
  const totals = read.flatMap(({ gpu }) => gpu.memoryTotal.ok ? [gpu.memoryTotal.value] : []);
  const ofTotal = totals.length === read.length ? ` of ${formatSum(totals)}` : "";
  const all = gpus.length + unreadableGpus.length;
  const where = read.length === all
    ? plural(all, "GPU")
    : `${read.length} of ${plural(all, "GPU")}; not known on the rest`;
  return [`${formatSum(used)}${ofTotal} in use on ${where}.`];
}

function sayUnlisted({ gpus }: Snapshot): string[] {
  const indexes = gpus.filter(({ gpu }) =>
    gpu.processList.state === "unknown" && !(gpu.memoryUsed.ok && gpu.memoryUsed.value === 0)
  ).map(({ gpu }) => gpu.index);
  return indexes.length === 0
    ? []
    : [`Who holds the memory of ${nameIndexes(indexes)} cannot be told from here.`];
}

function sayRecovery({ gpus }: Snapshot): string[] {
  const indexes = gpus.filter(({ gpu }) => gpu.recoveryAction.ok && gpu.recoveryAction.value !== "none")
    .map(({ gpu }) => gpu.index);
  if (indexes.length === 0) return [];
  const asks = indexes.length === 1 ? "asks for recovery" : "ask for recovery";
  return [`${nameIndexes(indexes)} ${asks}: the action it wants stands beside it.`];
}

function sayUnattributed({ gpus }: Snapshot): string[] {
  const unexplained = gpus.flatMap(({ unattributed, cause }) =>
    unattributed.ok && cause !== undefined ? [unattributed.value] : []
  );
  return unexplained.length === 0
    ? []
    : [`${formatSum(unexplained)} of it is listed with no process: see the notes on the GPUs.`];
}

function sayHolders({ holders }: Snapshot): string[] {
  const pidsOf = (concern: Concern) =>
    holders.filter((holder) => CONCERNS[holder.class] === concern).map(({ pid }) => pid);
  const left = pidsOf("left-behind");
  const unclear = pidsOf("unclear");
  return [
    ...(left.length === 0 ? [] : [
      `${namePids(left, "was", "were")} left behind: gpuctl clean-zombies shows how to end ${
        left.length === 1 ? "it" : "them"
      } safely.`,
    ]),
    ...(unclear.length === 0 ? [] : [`${namePids(unclear, "needs", "need")} a look.`]),
  ];
}

function namePids(pids: readonly number[], one: string, many: string): string {
  if (pids.length === 1) return `PID ${pids[0]} ${one}`;
  const rest = pids.length > SHOWN_PIDS ? ` and ${pids.length - SHOWN_PIDS} more` : "";
  return `${pids.length} processes (PID ${pids.slice(0, SHOWN_PIDS).join(", ")}${rest}) ${many}`;
}

function sayGhosts({ ghosts }: Snapshot): string[] {
  const pids = [
    ...new Set(ghosts.filter(({ likelyHolders }) => likelyHolders.length === 0).map(({ pid }) => pid)),
  ];
  return pids.length === 0
    ? []
    : [`Memory of dead PID ${pids.join(", ")} is kept by no process that can be seen.`];
}

function sayNothing(snapshot: Snapshot): string {
  if (!isAllSeen(snapshot)) return "Nothing left behind was seen, but not everything could be seen.";
  const isIdle = snapshot.gpus.every(({ gpu }) => gpu.memoryUsed.ok && gpu.memoryUsed.value === 0);
  return isIdle && snapshot.holders.length === 0 ? "Nobody holds GPU memory." : "Nothing was left behind.";
}
