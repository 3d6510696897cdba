import { type Ending, EXIT } from "../core/errors.ts";
import type { ChildEnd } from "../model/diff.ts";
import type { IsolationVerdictKind } from "../model/isolation.ts";
import { JOB_STATUS, statusOfChild } from "./diff_status.ts";
import { ISOLATION_ENDINGS } from "./isolation.ts";

/** How a watched job ends the program: a job that failed or ran out of time says so itself; the verdict comes after that. */
export function statusOfIsolatedJob(
  { hasTimedOut, end, verdict }: {
    readonly hasTimedOut: boolean;
    readonly end: ChildEnd;
    readonly verdict: IsolationVerdictKind;
  },
): Ending {
  if (hasTimedOut) return { status: JOB_STATUS.timedOut };
  const status = statusOfChild(end);
  return status === EXIT.ok ? ISOLATION_ENDINGS[verdict] : { status };
}
