/** Ends what was left behind on the GPUs that are to be reset, by the rules of a cleaning. */
import type { TimedJudgement } from "../analysis/ending.ts";
import { judgeHolders } from "../analysis/judge.ts";
import { type EvictionScope, planEviction } from "../analysis/reset_eviction.ts";
import type { Pid } from "../core/ids.ts";
import { type Absent, formatAbsent } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import type { Milliseconds } from "../core/units.ts";
import type { AuditScene } from "../model/audit.ts";
import type { EndOutcome } from "../model/cleanup.ts";
import { findSilence } from "../model/observation.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { LookOptions, World } from "../world/ports.ts";
import { type EndingWorld, endOnRecord } from "./end_on_record.ts";
import type { StepResult } from "./reset_steps.ts";

export interface EvictionOptions {
  readonly source: LiveSource;
  readonly look: LookOptions;
  readonly confirm: Milliseconds;
  readonly grace: Milliseconds;
  readonly settle: Milliseconds;
  readonly scope: EvictionScope;
  /** Who was to be ended by the first judgement alone. */
  readonly expected: readonly Pid[];
  /** The first of the two judgements. */
  readonly first: TimedJudgement;
  readonly audit: AuditScene;
  /** Whether somebody wants us to stop: asked just before the first one is ended. */
  readonly isInterrupted: () => boolean;
}

/** What became of a process that is in the way no more. */
const GONE: readonly (EndOutcome | undefined)[] = ["ended", "ended-by-force", "already-gone"];

/** Judges a second time, a pause after the first, and ends whom both judgements name. */
export async function evictHolders(
  options: EvictionOptions,
  world: EndingWorld & Pick<World, "observe">,
): Promise<StepResult> {
  const { source, look, confirm, scope, expected, first, audit } = options;
  await world.clock.pause(confirm);
  const observation = await world.observe(source, look);
  const { report, scan, ticks } = observation;
  // What the kernel says in a silent driver's place does not tell who holds what.
  const silence = findSilence(observation);
  if (silence) return failedLook(silence);
  if (!report.ok) return failedLook(report);
  if (!scan.ok) return failedLook(scan);
  const second = { judgement: judgeHolders(report.value, scan.value), scan: scan.value, ticks };
  const { acts, kept } = planEviction(first, second, scope);
  // The plan has named who is to be ended. Whoever else is found now is left alone, and blocks the reset.
  const planned = acts.filter(({ identity }) => expected.includes(identity.pid));
  if (options.isInterrupted()) return { state: "skipped", answer: "nobody was ended" };
  const ended = await endOnRecord(planned, audit, options, world);
  const outcomes = new Map(ended.map(({ pid, outcome }) => [pid, outcome]));
  const missed = expected.flatMap((pid) => {
    const outcome = outcomes.get(pid);
    if (GONE.includes(outcome)) return [];
    const why = outcome ?? kept.find((each) => each.pid === pid)?.why;
    // Somebody who is in neither list has left by himself meanwhile.
    return why === undefined ? [] : [`PID ${pid}: ${why}`];
  });
  if (missed.length > 0) return { state: "failed", answer: missed.join("; ") };
  const count = ended.filter(({ signal }) => signal !== null).length;
  return { state: "done", answer: `${plural(count, "process", "processes")} ended` };
}

function failedLook(why: Absent): StepResult {
  return { state: "failed", answer: `the second look failed: ${formatAbsent(why)}` };
}
