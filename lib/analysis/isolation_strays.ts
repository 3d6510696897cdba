/** Contexts of a job where it has no business. */
import { absent } from "../core/reading.ts";
import { type Bytes, formatBytes } from "../core/units.ts";
import type { Gpu } from "../model/gpu.ts";
import type { IsolationViolation } from "../model/isolation.ts";
import type { Problem } from "../model/snapshot.ts";
import { type Explained, explainStray } from "./isolation_cause.ts";
import type { IsolationInput } from "./isolation_input.ts";
import { type Place, placeOf } from "./isolation_place.ts";
import { gpuProblem, sizeProblems } from "./isolation_problems.ts";
import type { JobContexts } from "./isolation_ranks.ts";
import type { WatchedContext } from "./isolation_tally.ts";

/** What there is to judge by. */
export interface Evidence {
  readonly input: IsolationInput;
  readonly jobs: JobContexts;
}

/** What the contexts on one GPU come to. */
export interface JudgedContexts {
  readonly violations: readonly IsolationViolation[];
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
}

/** Judges the job's own contexts on one GPU. */
export function judgeStrays(gpu: Gpu, evidence: Evidence): JudgedContexts {
  const { input } = evidence;
  const placed = input.tally.gpu(gpu.uuid).contexts.filter(({ pid }) => input.whose(pid) === "job")
    .map((context) => ({ context, place: placeOf(context, gpu, input.allowed) }));
  const strays = placed.map((each) => findStray(gpu, each, evidence)).filter((stray) => stray !== undefined);
  return {
    violations: strays.flatMap((stray) => violationOf(gpu, stray, input)),
    problems: [
      ...strays.flatMap(({ context }) => sizeProblems(gpu, context, input.threshold)),
      ...placed.filter(({ place }) => place === "untold").map(({ context }) => untoldProblem(gpu, context)),
    ],
    notes: strays.flatMap(({ context }) => smallNote(gpu, context, input.threshold)),
  };
}

/** That nobody knows on which part of a GPU a context is. */
export function untoldProblem(gpu: Gpu, { pid }: WatchedContext): Problem {
  return gpuProblem(gpu, absent("not-reported"), `which of its MIG devices PID ${pid} used is not known`);
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
  const isRankAstray = worksElsewhere && !input.allowsRanks;
  if (place === "untold" || place === "allowed" && !isRankAstray) return undefined;
  const { machine, allowed, lint, processes } = input;
  const process = processes.find((each) => each.process.pid === context.pid);
  const stray = { gpu, context, process, worksElsewhere, onGpus: jobs.gpusOf(context.pid) };
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
