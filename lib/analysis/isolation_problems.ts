/** What could not be seen of a job. Each one keeps the verdict from `isolated`. */
import type { Pid } from "../core/ids.ts";
import { type Absent, absent, formatAbsent, type Reading } from "../core/reading.ts";
import { printable } from "../core/text.ts";
import { type Bytes, formatDuration } from "../core/units.ts";
import { contextsOf, type Gpu } from "../model/gpu.ts";
import type { Problem } from "../model/snapshot.ts";
import type { IsolationInput } from "./isolation_input.ts";
import type { WatchedContext, WatchedGpu } from "./isolation_tally.ts";

const NO_LOOK = absent("not-reported", "the job ended before a look was taken");

const OVER_TOO_SOON = "The job was over before the first look at the GPUs";

/** What concerns the machine as a whole. */
export function generalProblems(
  { tally, machine, untold, allowed, patience }: IsolationInput,
): readonly Problem[] {
  const problems: Problem[] = [];
  const note = (subject: string, reason: Absent, message: string) =>
    problems.push({ subject, reason, message });
  const { count, reason } = tally.missed;
  const isAccounted = machine.gpus.every(({ uuid }) => tally.isAccounted(uuid));
  if (tally.looks === 0 && !isAccounted) {
    note(
      "the GPUs",
      reason ?? NO_LOOK,
      reason === undefined ? OVER_TOO_SOON : "No look at the GPUs was answered while the job ran",
    );
  } else if (reason) {
    note(
      "the GPUs",
      reason,
      `${count} of ${count + tally.looks} looks were not answered: ${formatAbsent(reason)}`,
    );
  }
  if (patience !== undefined && tally.longestGap > patience && reason === undefined && !isAccounted) {
    note(
      "the GPUs",
      absent("not-asked", "gpuctl did not run, or had to wait for the machine"),
      `For ${
        formatDuration(tally.longestGap)
      } no look was taken: gpuctl did not run, or had to wait for the machine`,
    );
  }
  const unreadable = machine.unreadableGpus[0]?.reason ?? tally.unreadable;
  if (unreadable) {
    note(
      "a GPU",
      unreadable,
      `The driver counts a GPU that could not be opened: ${formatAbsent(unreadable)}`,
    );
  }
  if (machine.gpus.length === 0) note("the GPUs", absent("not-reported"), "The driver lists no GPU");
  if (untold) {
    note(
      "the job's processes",
      untold,
      `Not every process of the job could be told from others: ${formatAbsent(untold)}`,
    );
  }
  for (const { gpu } of allowed) {
    if (machine.gpus.some(({ uuid }) => uuid === gpu)) continue;
    note(
      printable(gpu),
      absent("not-reported"),
      `The job's GPU ${printable(gpu)} is not among those of the machine`,
    );
  }
  return problems;
}

/** What concerns one GPU. */
export function gpuProblems(gpu: Gpu, watched: WatchedGpu, input: IsolationInput): readonly Problem[] {
  const problems: Problem[] = [];
  const { looks } = input.tally;
  if (looks > 0 && watched.looks < looks) {
    problems.push(
      gpuProblem(gpu, absent("lost"), `it was missing in ${looks - watched.looks} of ${looks} looks`),
    );
  }
  if (watched.unlisted) {
    problems.push(
      gpuProblem(
        gpu,
        watched.unlisted,
        `its processes were not all listed: ${formatAbsent(watched.unlisted)}`,
      ),
    );
  }
  for (const { pid } of watched.contexts.filter(({ pid }) => isStranger(pid, gpu, input))) {
    const what = input.hasRunBefore
      ? `PID ${pid} has a context, and whose it is could not be told`
      : `PID ${pid} came up during the job, and whose it was could not be told`;
    problems.push(gpuProblem(gpu, absent("exited"), what));
  }
  return problems;
}

/** A context whose size some look did not say, unless another look proved it too large. */
export function sizeProblems(
  gpu: Gpu,
  { pid, peak, unread }: WatchedContext,
  threshold: Bytes,
): readonly Problem[] {
  if (unread === undefined || peak.ok && peak.value > threshold) return [];
  return [
    gpuProblem(gpu, unread, `the size of the context of PID ${pid} is not known: ${formatAbsent(unread)}`),
  ];
}

/** Something about one GPU that is not known. */
export function gpuProblem({ index }: Gpu, reason: Absent, what: string): Problem {
  return { subject: `GPU ${index}`, reason, message: `GPU ${index}: ${what}` };
}

/** A process that may be the job's. Who was listed before the job began is not. */
function isStranger(pid: Pid, gpu: Gpu, { whose, baseline, hasRunBefore }: IsolationInput): boolean {
  if (whose(pid) !== "unknown") return false;
  return hasRunBefore === true || !listedBefore(gpu, baseline).some((context) => context.pid === pid);
}

function listedBefore(gpu: Gpu, baseline: Reading<{ readonly gpus: readonly Gpu[] }>) {
  const same = baseline.ok ? baseline.value.gpus.find(({ uuid }) => uuid === gpu.uuid) : undefined;
  return same ? contextsOf(same.processList) : [];
}
