/** How a diff ends the program: the child's own status wherever it says more than ours. */
import { type Ending, EXIT } from "../core/errors.ts";
import type { ChildEnd, DiffVerdict, JobDiff, SnapshotDiff } from "../model/diff.ts";

/** Statuses of timeout(1) and env(1) that this program shares with them. */
export const JOB_STATUS = { timedOut: 124, failed: 125, notRunnable: 126, notFound: 127 } as const;
/** A shell's status for a command that a signal ended is this plus the signal's number. */
const SIGNAL_BASE = 128;

/** What each verdict on a job means for its build. */
const JOB_MEANING = {
  "held": "finding",
  "held-by-nobody-visible": "finding",
  "still-releasing": "finding",
  "moved": "finding",
  "grew": "finding",
  "unknown": "unavailable",
  "changed-by-others": "ok",
  "released": "ok",
  "unchanged": "ok",
} as const satisfies Record<DiffVerdict, keyof typeof EXIT>;

/** The status that a child's end stands for. */
export function statusOfChild(end: ChildEnd): number {
  return end.kind === "exited" ? end.status : SIGNAL_BASE + end.signal;
}

/** The status of a job's diff. A job that failed or ran out of time says so itself; what it left comes after that. */
export function statusOfJob(
  { hasTimedOut, end, verdict }: Pick<JobDiff, "hasTimedOut" | "end" | "verdict">,
  leakStatus: number,
): Ending {
  if (hasTimedOut) return { status: JOB_STATUS.timedOut };
  const status = statusOfChild(end);
  if (status !== EXIT.ok) return { status };
  const meaning = JOB_MEANING[verdict];
  return meaning === "finding" ? { status: leakStatus } : meaning;
}

/** The ending of a comparison: a finding where something is held that was not held before. */
export function endingOfSnapshots({ verdict }: Pick<SnapshotDiff, "verdict">): Ending {
  return JOB_MEANING[verdict];
}
