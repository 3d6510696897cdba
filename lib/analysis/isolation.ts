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
  IsolationViolation,
} from "../model/isolation.ts";
import type { Problem } from "../model/snapshot.ts";
import { type Explained, explainStray } from "./isolation_cause.ts";
import type { IsolationInput } from "./isolation_input.ts";
import { isolationNotes } from "./isolation_notes.ts";
import { allowanceOf, type Place, placeOf } from "./isolation_place.ts";
import { generalProblems, gpuProblem, gpuProblems, sizeProblems } from "./isolation_problems.ts";
import { JobContexts } from "./isolation_ranks.ts";
import type { WatchedContext, WatchedGpu } from "./isolation_tally.ts";

/** How a verdict ends the program. */
export const ISOLATION_ENDINGS = {
  violated: "finding",
  unproven: "unavailable",
  isolated: "ok",
} as const satisfies Record<IsolationVerdictKind, keyof typeof EXIT>;

/** The verdict, with a cause and a fix for each violation. Never `isolated` while anything was left unseen. */
export function judgeIsolation(input: IsolationInput): IsolationVerdict {
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
    notes: [...judged.flatMap((each) => each.notes), ...isolationNotes(input, { jobs, violations })],
    problems,
  };
}

/** A proof outweighs any doubt, and any doubt outweighs what was seen to be well. */
function verdictOf(violations: readonly unknown[], doubts: readonly unknown[]): IsolationVerdictKind {
  if (violations.length > 0) return "violated";
  return doubts.length > 0 ? "unproven" : "isolated";
}

interface Evidence {
  readonly input: IsolationInput;
  readonly jobs: JobContexts;
}

interface JudgedGpu {
  readonly gpu: Omit<IsolatedGpu, "verdict">;
  readonly violations: readonly IsolationViolation[];
  readonly suspicions: readonly IsolationSuspicion[];
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
}

function judgeGpu(gpu: Gpu, evidence: Evidence): JudgedGpu {
  const { input } = evidence;
  const watched = input.tally.gpu(gpu.uuid);
  const growth = growthOf(gpu, watched, input.baseline);
  const allowed = allowanceOf(gpu, input.allowed);
  const placed = watched.contexts.filter(({ pid }) => input.whose(pid) === "job")
    .map((context) => ({ context, place: placeOf(context, gpu, input.allowed) }));
  const strays = placed.map((each) => findStray(gpu, each, evidence)).filter((stray) => stray !== undefined);
  return {
    gpu: { uuid: gpu.uuid, index: gpu.index, name: gpu.name, allowed, growth },
    violations: strays.flatMap((stray) => violationOf(gpu, stray, input)),
    suspicions: allowed === "not" ? suspicionsOf(gpu, watched, { growth, threshold: input.threshold }) : [],
    problems: [
      ...gpuProblems(gpu, watched, input),
      ...strays.flatMap(({ context }) => sizeProblems(gpu, context, input.threshold)),
      ...placed.filter(({ place }) => place === "untold").map(({ context }) =>
        gpuProblem(
          gpu,
          absent("not-reported"),
          `which of its MIG devices PID ${context.pid} used is not known`,
        )
      ),
    ],
    notes: strays.flatMap(({ context }) => smallNote(gpu, context, input.threshold)),
  };
}

interface StrayContext extends Explained {
  readonly context: WatchedContext;
}

/** A context that is out of place, with the cause. On the job's own GPUs that is one of a rank that works elsewhere. */
function findStray(
  gpu: Gpu,
  { context, place }: { readonly context: WatchedContext; readonly place: Place },
  { input, jobs }: Evidence,
): StrayContext | undefined {
  const worksElsewhere = jobs.worksElsewhere(context.pid, gpu.uuid);
  if (place === "untold" || place === "allowed" && !worksElsewhere) return undefined;
  const { machine, allowed, lint, processes } = input;
  const process = processes.find((each) => each.process.pid === context.pid);
  const stray = { gpu, context, process, worksElsewhere };
  const explained = explainStray(stray, { machine, allowed, mainGpus: jobs.mainGpus, lint });
  return place === "stray" || explained.cause === "default-device" ? { context, ...explained } : undefined;
}

function violationOf(
  gpu: Gpu,
  { context, cause, explanation, fix }: StrayContext,
  { processes, threshold }: IsolationInput,
): readonly IsolationViolation[] {
  const { peak, pid } = context;
  if (!peak.ok || peak.value <= threshold) return [];
  const command = processes.find(({ process }) => process.pid === pid)?.process.comm ?? "?";
  return [{
    gpu: gpu.uuid,
    index: gpu.index,
    pid,
    command,
    contextBytes: peak.value,
    cause,
    explanation,
    fix,
  }];
}

function smallNote(
  { index }: Gpu,
  { pid, peak, unread }: WatchedContext,
  threshold: Bytes,
): readonly string[] {
  if (unread !== undefined || !peak.ok || peak.value > threshold) return [];
  return [
    `PID ${pid} has a context of ${formatBytes(peak.value)} on GPU ${index}, which is within the threshold`,
  ];
}

/** Where processes are not listed, the totals are all there is: growth is a suspicion, and its absence no proof. */
function suspicionsOf(
  { uuid, index }: Gpu,
  { unlisted }: WatchedGpu,
  { growth, threshold }: { readonly growth: Reading<Bytes>; readonly threshold: Bytes },
): readonly IsolationSuspicion[] {
  if (unlisted === undefined || !growth.ok || growth.value <= threshold) return [];
  const message =
    `GPU ${index} had up to ${formatBytes(growth.value)} more in use than before the job, and the driver ` +
    "does not say whose";
  return [{ gpu: uuid, index, growthBytes: growth.value, message }];
}

function growthOf({ uuid }: Gpu, { peakUsed }: WatchedGpu, baseline: Reading<DriverReport>): Reading<Bytes> {
  if (!baseline.ok) return baseline;
  const before = baseline.value.gpus.find((gpu) => gpu.uuid === uuid)?.memoryUsed ?? absent("not-reported");
  if (!before.ok) return before;
  return peakUsed.ok ? known(bytes(Math.max(0, peakUsed.value - before.value))) : peakUsed;
}
