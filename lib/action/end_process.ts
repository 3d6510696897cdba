/** Ends one process: held by its pidfd, checked before each signal, politely first. */
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { EndOutcome } from "../model/cleanup.ts";
import { isStillRunning, type ProcessIdentity, type ProcStat } from "../model/process.ts";
import type { Clock, ProcessTable, Signal } from "../world/ports.ts";

export interface EndOptions {
  /** How long SIGTERM has to work before SIGKILL is sent. */
  readonly grace: Milliseconds;
  /** Looks at the process just before the first signal; a sentence means that it must not be sent. */
  readonly objection?: (now: ProcStat) => string | undefined;
}

export interface EndResult {
  readonly outcome: Exclude<EndOutcome, "planned" | "memory-held">;
  readonly signal: Signal | null;
  readonly why?: string;
}

/** How long the kernel has to act on SIGKILL: closing tens of GiB takes seconds. */
export const FORCED_GRACE = milliseconds(10_000);
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;

/** Ends exactly this process, or says why not. A later process under the same pid is never touched. */
export async function endProcess(
  identity: ProcessIdentity,
  { grace, objection }: EndOptions,
  world: { readonly processes: ProcessTable; readonly clock: Clock },
): Promise<EndResult> {
  using handle = world.processes.openProcess(identity);
  const now = world.processes.findProcess(identity.pid);
  if (handle === undefined || now === undefined || now.startTicks !== identity.startTicks) {
    return { outcome: "already-gone", signal: null };
  }
  const why = objection?.(now);
  if (why !== undefined) return { outcome: "changed", signal: null, why };
  const sent = handle.send("SIGTERM");
  if (sent !== "sent") return { outcome: sent === "denied" ? "denied" : "already-gone", signal: null };
  // A stopped process acts on SIGTERM only once it is continued.
  if (now.state === "T") handle.send("SIGCONT");
  if (await hasEnded(identity, grace, world)) return { outcome: "ended", signal: "SIGTERM" };
  if (handle.send("SIGKILL") === "denied") return { outcome: "denied", signal: "SIGTERM" };
  const isGone = await hasEnded(identity, FORCED_GRACE, world);
  return { outcome: isGone ? "ended-by-force" : "survived", signal: "SIGKILL" };
}

/** Waits until nothing of the process runs any more. A zombie leader with live threads has not ended. */
export async function hasEnded(
  identity: ProcessIdentity,
  limit: Milliseconds,
  { processes, clock }: { readonly processes: ProcessTable; readonly clock: Clock },
): Promise<boolean> {
  const deadline = clock.monotonic() + limit;
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if (!isThere(processes.findProcess(identity.pid), identity)) return true;
    if (clock.monotonic() >= deadline) return false;
    await clock.pause(milliseconds(pause));
  }
}

function isThere(now: ProcStat | undefined, { startTicks }: ProcessIdentity): boolean {
  return now?.startTicks === startTicks && isStillRunning(now);
}
