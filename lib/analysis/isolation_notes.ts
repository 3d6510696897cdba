/** What is good to know of a job's GPUs and breaks no rule. */
import type { DeviceMinor, Pid } from "../core/ids.ts";
import { nameIndexes } from "../core/ranges.ts";
import { plural } from "../core/text.ts";
import { type Bytes, formatBytes, formatDuration, sumBytes } from "../core/units.ts";
import type { Gpu } from "../model/gpu.ts";
import type { IsolationViolation } from "../model/isolation.ts";
import type { DeviceUse } from "../model/observation.ts";
import { habitNotes } from "./isolation_habits.ts";
import type { IsolationInput } from "./isolation_input.ts";
import { allowanceOf } from "./isolation_place.ts";
import type { JobContexts } from "./isolation_ranks.ts";

/** Pids that a note names before it only counts. */
const MOST_PIDS = 5;

interface Findings {
  readonly jobs: JobContexts;
  readonly violations: readonly IsolationViolation[];
}

/** One sentence each. */
export function isolationNotes(input: IsolationInput, { jobs, violations }: Findings): readonly string[] {
  const { tally, machine, allowed } = input;
  const isUsed = machine.gpus.some((gpu) =>
    allowanceOf(gpu, allowed) !== "not" && [...jobs.pids].some((pid) => jobs.gpusOf(pid).includes(gpu.uuid))
  );
  return [
    ...machine.gpus.flatMap((gpu) => rankNotes(gpu, violations)),
    ...habitNotes(input, { jobs, violations }),
    ...touchNotes(input, jobs),
    ...(tally.looks > 0 && allowed.length > 0 && !isUsed && violations.length === 0
      ? ["The job had no context on the GPUs that it was given, so it was not put to the test"]
      : []),
    ...lookNotes(tally, machine),
  ];
}

/** What may have passed between the looks. Nothing has where the driver keeps account of whom each GPU served. */
export function lookNotes(
  tally: IsolationInput["tally"],
  { gpus }: IsolationInput["machine"],
): readonly string[] {
  const { looks, longestGap } = tally;
  if (gpus.length > 0 && gpus.every(({ uuid }) => tally.isAccounted(uuid))) {
    return [
      `${plural(looks, "look was", "looks were")} taken, and the driver's own account names who came between`,
    ];
  }
  if (looks === 0) return [];
  if (looks === 1) return ["One look was taken; a context that was there before or after it was not seen"];
  return [
    `${looks} looks were taken, at most ${
      formatDuration(longestGap)
    } apart; a context that lived shorter may not ` +
    "have been seen",
  ];
}

/** Several ranks that touched the first GPU are one mistake, told once with its price. */
function rankNotes(gpu: Gpu, violations: readonly IsolationViolation[]): readonly string[] {
  const sizes = violations.filter((each) => each.gpu === gpu.uuid && each.cause === "default-device")
    .map(({ contextBytes }) => contextBytes);
  if (sizes.length < 2) return [];
  return [
    `${sizes.length} ranks other than 0 have a context on GPU ${gpu.index}: ${rangeOf(sizes)}, ` +
    `${formatBytes(sumBytes(sizes))} in all`,
  ];
}

function rangeOf(sizes: readonly Bytes[]): string {
  const sorted = sizes.toSorted((a, b) => a - b).map(formatBytes);
  const [least = ""] = sorted;
  const most = sorted.at(-1) ?? "";
  return least === most ? `${least} each` : `${least} to ${most} each`;
}

type Grade = "visible" | "opened";

/** Some processes that have touched a GPU, and how. */
interface Touch {
  readonly grade: Grade;
  readonly pids: readonly Pid[];
  readonly gpus: readonly Gpu[];
}

/** Visible GPUs and merely opened ones, told apart by their mappings; those that the same processes touched, together. */
function touchNotes(input: IsolationInput, jobs: JobContexts): readonly string[] {
  const touches = new Map<string, Touch>();
  for (const gpu of input.machine.gpus) {
    if (allowanceOf(gpu, input.allowed) !== "not") continue;
    for (const grade of ["visible", "opened"] as const) {
      const pids = touchersOf(gpu, grade, { input, jobs });
      const key = `${grade} ${pids.join()}`;
      if (pids.length > 0) touches.set(key, { grade, pids, gpus: [...touches.get(key)?.gpus ?? [], gpu] });
    }
  }
  return [...touches.values()].map(describeTouch);
}

function touchersOf(
  gpu: Gpu,
  grade: Grade,
  { input, jobs }: { readonly input: IsolationInput; readonly jobs: JobContexts },
): readonly Pid[] {
  if (!gpu.minor.ok) return [];
  const minor = gpu.minor.value;
  return input.processes
    .filter(({ process, uses }) =>
      !jobs.gpusOf(process.pid).includes(gpu.uuid) && uses.ok && gradeOf(uses.value, minor) === grade
    )
    .map(({ process }) => process.pid);
}

function describeTouch({ grade, pids, gpus }: Touch): string {
  const isOne = gpus.length === 1;
  const those = nameIndexes(gpus.map(({ index }) => index));
  return grade === "visible"
    ? `${those} ${isOne ? "is" : "are"} visible to ${name(pids)}, without a context: about 3 MiB of ${
      isOne ? "it" : "each GPU"
    } for each, charged to nobody. CUDA_VISIBLE_DEVICES would hide ${isOne ? "it" : "them"}`
    : `${those} ${isOne ? "was" : "were"} opened and not used by ${name(pids)}, as by any reader of NVML`;
}

function gradeOf(uses: readonly DeviceUse[], minor: DeviceMinor): Grade | undefined {
  const use = uses.find(({ node }) => node.kind === "gpu" && node.minor === minor);
  if (use === undefined || !use.mappings.ok) return undefined;
  if (use.mappings.value > 0) return "visible";
  return use.descriptors > 0 ? "opened" : undefined;
}

function name(pids: readonly Pid[]): string {
  const shown = pids.slice(0, MOST_PIDS).join(", ");
  const more = pids.length > MOST_PIDS ? ` and ${pids.length - MOST_PIDS} more` : "";
  return `${plural(pids.length, "process", "processes")} of the job (PID ${shown}${more})`;
}
