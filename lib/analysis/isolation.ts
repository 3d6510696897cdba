/** Judges whether a job stayed on the GPUs it was given. */
import type { EXIT } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { type Bytes, bytes, formatBytes } from "../core/units.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type {
  IsolatedGpu,
  IsolationSuspicion,
  IsolationVerdict,
  IsolationVerdictKind,
} from "../model/isolation.ts";
import { type IsolationInput, machineOf } from "./isolation_input.ts";
import { judgeIntruders } from "./isolation_intruders.ts";
import { isolationNotes } from "./isolation_notes.ts";
import { allowanceOf } from "./isolation_place.ts";
import { generalProblems, gpuProblems } from "./isolation_problems.ts";
import { JobContexts } from "./isolation_ranks.ts";
import { type Evidence, type JudgedContexts, judgeStrays } from "./isolation_strays.ts";
import type { WatchedGpu } from "./isolation_tally.ts";

/** How a verdict ends the program. */
export const ISOLATION_ENDINGS = {
  violated: "finding",
  unproven: "unavailable",
  isolated: "ok",
} as const satisfies Record<IsolationVerdictKind, keyof typeof EXIT>;

/** The verdict, with a cause and a fix for each violation. Never `isolated` while anything was left unseen. */
export function judgeIsolation(seen: IsolationInput): IsolationVerdict {
  const input = { ...seen, machine: machineOf(seen) };
  const { tally, threshold, machine } = input;
  const jobs = new JobContexts(machine.gpus, tally, (pid) => input.whose(pid) === "job");
  const general = generalProblems(input);
  const judged = machine.gpus.toSorted((a, b) => a.index - b.index).map((gpu) =>
    judgeGpu(gpu, { input, jobs })
  );
  const problems = [...general, ...judged.flatMap((each) => each.problems)];
  const violations = judged.flatMap((each) => each.violations);
  const suspicions = judged.flatMap((each) => each.suspicions);
  return {
    verdict: verdictOf(violations, [...problems, ...suspicions]),
    threshold,
    looks: tally.looks,
    longestGap: tally.longestGap,
    gpus: judged.map((each) => ({
      ...each.gpu,
      verdict: verdictOf(each.violations, [...general, ...each.problems, ...each.suspicions]),
    })),
    violations,
    suspicions,
    notes: [
      ...input.remarks ?? [],
      ...judged.flatMap((each) => each.notes),
      ...isolationNotes(input, { jobs, violations }),
    ],
    problems,
  };
}

/** A proof outweighs any doubt, and any doubt outweighs what was seen to be well. */
export function verdictOf(violations: readonly unknown[], doubts: readonly unknown[]): IsolationVerdictKind {
  if (violations.length > 0) return "violated";
  return doubts.length > 0 ? "unproven" : "isolated";
}

interface JudgedGpu extends JudgedContexts {
  readonly gpu: Omit<IsolatedGpu, "verdict">;
  readonly suspicions: readonly IsolationSuspicion[];
}

function judgeGpu(gpu: Gpu, evidence: Evidence): JudgedGpu {
  const { input } = evidence;
  const watched = input.tally.gpu(gpu.uuid);
  const growth = growthOf(gpu, watched, input.baseline);
  const allowed = allowanceOf(gpu, input.allowed);
  const strays = judgeStrays(gpu, evidence);
  const intruders = judgeIntruders(gpu, input);
  return {
    gpu: { uuid: gpu.uuid, index: gpu.index, name: gpu.name, allowed, growth },
    violations: [...strays.violations, ...intruders.violations],
    suspicions: allowed === "not" ? findSuspicions(gpu, watched, { growth, input }) : [],
    problems: [...gpuProblems(gpu, watched, input), ...strays.problems, ...intruders.problems],
    notes: [...strays.notes, ...intruders.notes],
  };
}

type SuspicionInput = Pick<IsolationInput, "threshold" | "hasRunBefore">;

/** Where processes are not listed, the totals are all there is: growth is a suspicion, and its absence no proof. */
export function findSuspicions(
  { uuid, index }: Gpu,
  { unlisted }: WatchedGpu,
  { growth, input }: { readonly growth: Reading<Bytes>; readonly input: SuspicionInput },
): readonly IsolationSuspicion[] {
  if (unlisted === undefined || !growth.ok || growth.value <= input.threshold) return [];
  const since = input.hasRunBefore ? "in the first look" : "before the job";
  const message =
    `GPU ${index} had up to ${
      formatBytes(growth.value)
    } more in use than ${since}, and the driver does not ` +
    "say whose";
  return [{ gpu: uuid, index, growthBytes: growth.value, message }];
}

/** How much more of a GPU was in use at most than in the look that growth counts from. */
export function growthOf(
  { uuid }: Gpu,
  { peakUsed }: WatchedGpu,
  baseline: Reading<DriverReport>,
): Reading<Bytes> {
  if (!baseline.ok) return baseline;
  const before = baseline.value.gpus.find((gpu) => gpu.uuid === uuid)?.memoryUsed ?? absent("not-reported");
  if (!before.ok) return before;
  return peakUsed.ok ? known(bytes(Math.max(0, peakUsed.value - before.value))) : peakUsed;
}
