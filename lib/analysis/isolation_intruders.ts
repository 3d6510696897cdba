/** Contexts of others on the GPUs of a job: violations where it was to have them for itself, good to know otherwise. */
import { formatAbsent, type Reading } from "../core/reading.ts";
import { printable, truncate } from "../core/text.ts";
import { formatBytes } from "../core/units.ts";
import type { Gpu } from "../model/gpu.ts";
import type { IsolationViolation } from "../model/isolation.ts";
import { nameParty } from "../model/party.ts";
import type { Process } from "../model/process.ts";
import type { Problem } from "../model/snapshot.ts";
import type { IsolationInput } from "./isolation_input.ts";
import { placeOf } from "./isolation_place.ts";
import { gpuProblem, sizeProblems } from "./isolation_problems.ts";
import { type JudgedContexts, untoldProblem } from "./isolation_strays.ts";
import type { WatchedContext } from "./isolation_tally.ts";
import { findMachineService } from "./machine_service.ts";

/** Longer names are cut: somebody else has chosen them. */
const SHOWN_CHARACTERS = 60;

interface Other {
  readonly context: WatchedContext;
  readonly process: Process | undefined;
  /** What makes it a part of the machine, which may be on every GPU. */
  readonly service: Reading<string> | undefined;
}

/** Judges the contexts of others on one GPU, as far as that is the job's. */
export function judgeIntruders(gpu: Gpu, input: IsolationInput): JudgedContexts {
  const { tally, allowed, threshold, isExclusive = false } = input;
  const contexts = tally.gpu(gpu.uuid).contexts.filter(({ pid }) => input.whose(pid) === "other");
  const inside = contexts.filter((context) => placeOf(context, gpu, allowed) === "allowed")
    .map((context) => describe(context, input));
  if (!isExclusive) {
    return { violations: [], problems: [], notes: inside.map((other) => shareNote(gpu, other)) };
  }
  const intruders = inside.filter(({ service }) => service === undefined);
  return {
    violations: intruders.flatMap((other) => violationOf(gpu, other, input)),
    problems: [
      ...intruders.flatMap(({ context }) => sizeProblems(gpu, context, threshold)),
      ...inside.flatMap((other) => doubtOf(gpu, other)),
      ...contexts.filter((context) => placeOf(context, gpu, allowed) === "untold")
        .map((context) => untoldProblem(gpu, context)),
    ],
    notes: inside.flatMap((other) =>
      other.service?.ok ? [`${shareNote(gpu, other)}; it ${other.service.value}, and is no intruder`] : []
    ),
  };
}

/** Somebody who may be a part of the machine, or only have its name. */
function doubtOf(gpu: Gpu, { context: { pid }, service }: Other): readonly Problem[] {
  if (service === undefined || service.ok) return [];
  return [
    gpuProblem(
      gpu,
      service,
      `whether PID ${pid} is a part of the machine is not known: ${formatAbsent(service)}`,
    ),
  ];
}

function describe(context: WatchedContext, { findOther }: IsolationInput): Other {
  const process = findOther?.(context.pid);
  return { context, process, service: process === undefined ? undefined : findMachineService(process) };
}

function shareNote({ index }: Gpu, { context: { pid, peak }, process }: Other): string {
  const whose = process === undefined ? "" : ` (${cut(process.comm)}) of ${nameParty(process)}`;
  const size = peak.ok ? formatBytes(peak.value) : "a context of unknown size";
  return `PID ${pid}${whose} had ${size} on GPU ${index} too`;
}

function violationOf(
  gpu: Gpu,
  { context: { pid, peak }, process }: Other,
  { threshold }: IsolationInput,
): readonly IsolationViolation[] {
  if (!peak.ok || peak.value <= threshold) return [];
  const whose = process === undefined ? "somebody else, who could not be looked up" : nameParty(process);
  return [{
    gpu: gpu.uuid,
    index: gpu.index,
    pid,
    command: process?.comm ?? "?",
    contextBytes: peak.value,
    cause: "intruder",
    explanation: `GPU ${gpu.index} was to be the job's alone, and this process belongs to ${whose}`,
    fix:
      "Let a scheduler or cgroup device rules keep others away from the GPU; meanwhile ask its owner to move",
    ...process && { party: { user: process.user, owner: process.owner } },
  }];
}

function cut(text: string): string {
  return printable(truncate(text, SHOWN_CHARACTERS));
}
