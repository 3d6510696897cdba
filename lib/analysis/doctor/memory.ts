/** Who has memory of the GPUs that should have none? */
import { formatAbsent, valueOf } from "../../core/reading.ts";
import { formatRanges } from "../../core/ranges.ts";
import { plural } from "../../core/text.ts";
import { bytes, formatBytes } from "../../core/units.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { Gpu } from "../../model/gpu.ts";
import type { Holder, HolderClass } from "../../model/snapshot.ts";
import { DEFAULT_CLASSES } from "../ending_policy.ts";
import { nameProcess, type ResetInput, scanOf, whyScanIncomplete } from "../reset_input.ts";
import { judgeGhosts, judgeUnattributed } from "../reset_need_memory.ts";
import { asResetInput } from "./as_reset_input.ts";
import { type Answer, type CheckPlan, type DoctorFacts, withAnswer } from "./facts.ts";
import { finding, fine, unknown, unseen, worstVerdict } from "./verdict.ts";

const READS = ["driver", "look"] as const;

export const HOLDERS_LEFT_BEHIND: CheckPlan = {
  id: "memory.holders-left-behind",
  title: "nobody was left behind with GPU memory",
  explanation:
    "Workers whose job has ended, threads of a dead program and children that inherited its memory hold a GPU " +
    "until somebody ends them.",
  reads: READS,
  judge: (facts) => withAnswer(facts, (answer) => judgeHolders(answer, facts)),
};

export const GHOSTS: CheckPlan = {
  id: "memory.ghosts",
  title: "the driver lists no memory of dead processes",
  explanation: "A pid in nvidia-smi that no longer exists cannot be killed: somebody alive keeps its memory.",
  reads: READS,
  judge: (facts) => withAnswer(facts, (answer) => judgeDead(answer, facts)),
};

export const UNATTRIBUTED: CheckPlan = {
  id: "memory.unattributed",
  title: "all memory in use belongs to a process",
  explanation:
    "Memory that is in use with no process may be a display's, managed memory, a virtual machine's, or lost " +
    "until a reset.",
  reads: READS,
  judge: (facts) => withAnswer(facts, (answer) => judgeRest(answer, facts)),
};

const LEFT_BEHIND: ReadonlySet<HolderClass> = new Set(DEFAULT_CLASSES);

function judgeHolders(answer: Answer, facts: DoctorFacts): CheckVerdict {
  const { holders } = answer.snapshot;
  const input = asResetInput(answer, facts);
  const left = holders.filter((holder) => LEFT_BEHIND.has(holder.class));
  if (left.length > 0) {
    const pids = left.map(({ pid }) => pid).join(",");
    return finding(
      left.map((holder) => describeHolder(holder, input)),
      `see how to end ${left.length === 1 ? "it" : "them"} safely: gpuctl clean-zombies --pid ${pids}`,
    );
  }
  const gaps = gapsOf(answer, input);
  return gaps ?? fine(
    holders.length === 0
      ? "nobody has a GPU open"
      : `${
        plural(holders.length, "process has", "processes have")
      } a GPU open, and none of them was left behind`,
  );
}

function describeHolder({ pid, class: name, evidence: [first] }: Holder, input: ResetInput): string {
  return `${nameProcess(pid, input)} is ${name}${first === undefined ? "" : `: ${first}`}`;
}

function judgeDead(answer: Answer, facts: DoctorFacts): CheckVerdict {
  const { ghosts } = answer.snapshot;
  const input = asResetInput(answer, facts);
  const reasons = answer.report.gpus.flatMap((gpu) => judgeGhosts(gpu, input).map(({ reason }) => reason));
  const indexes = answer.report.gpus.filter(({ uuid }) => ghosts.some(({ gpu }) => gpu === uuid))
    .map(({ index }) => index);
  if (reasons.length === 0) {
    return gapsOf(answer, input) ?? fine("every process that the driver lists is alive");
  }
  const keepers = new Set(ghosts.flatMap(({ likelyHolders }) => likelyHolders.map(({ pid }) => pid)));
  return finding(
    reasons,
    keepers.size > 0
      ? `see how to end who keeps it: gpuctl clean-zombies --pid ${[...keepers].join(",")}`
      : `see whether a reset helps: gpuctl reset-gpu ${formatRanges(indexes).join(",")}`,
  );
}

function judgeRest(answer: Answer, facts: DoctorFacts): CheckVerdict {
  const input = asResetInput(answer, facts);
  return worstVerdict([
    ...answer.report.gpus.map((gpu) => judgeRestOf(gpu, input)),
    ...unreadable(answer),
  ]);
}

function judgeRestOf(gpu: Gpu, input: ResetInput): CheckVerdict {
  const name = `GPU ${gpu.index}`;
  if (!gpu.memoryUsed.ok) return unseen(`how much memory of ${name} is used`, gpu.memoryUsed);
  if (gpu.processList.state !== "known") {
    return unseen(`who has memory of ${name}`, gpu.processList.reason);
  }
  const [sign] = judgeUnattributed(gpu, input);
  const sentence = `${name}: ${sign?.reason}`;
  switch (sign?.advice) {
    case undefined:
      return fine(`${name}: ${formatBytes(bytes(gpu.memoryUsed.value))} in use, ${describeRest(gpu, input)}`);
    case "none":
      return fine(sentence);
    case "unknown":
      return unknown([sentence], helpToSee(input));
    default:
      return finding([sentence], `see whether a reset helps: gpuctl reset-gpu ${gpu.index}`);
  }
}

function describeRest({ uuid }: Gpu, { snapshot }: ResetInput): string {
  const unattributed = snapshot.gpus.find(({ gpu }) => gpu.uuid === uuid)?.unattributed;
  return unattributed?.ok && unattributed.value > 0
    ? `${formatBytes(bytes(unattributed.value))} of it with no process: no more than a GPU takes for itself`
    : "and listed with processes";
}

/** How to see the rest of the processes; `undefined` where root itself does not. */
function helpToSee(input: ResetInput): string | undefined {
  const reader = scanOf(input)?.reader;
  if (reader !== undefined && valueOf(reader.isInitialPidNamespace) !== true) {
    return "look from the host: see namespace.pid";
  }
  return reader?.isRoot === true ? undefined : "run it as root: sudo gpuctl doctor";
}

/** Why it cannot be said that there is nobody else; `undefined` where everybody was seen. */
function gapsOf(answer: Answer, input: ResetInput): CheckVerdict | undefined {
  const incomplete = whyScanIncomplete(input);
  const gaps = [
    ...answer.report.gpus.flatMap(({ index, processList: list }) =>
      list.state === "known" ? [] : [unseen(`who has memory of GPU ${index}`, list.reason)]
    ),
    ...unreadable(answer),
    ...(incomplete === undefined ? [] : [
      unknown([`nothing was seen so far, but ${incomplete}`], helpToSee(input)),
    ]),
  ];
  return gaps.length === 0 ? undefined : worstVerdict(gaps);
}

function unreadable({ report }: Answer): CheckVerdict[] {
  return report.unreadableGpus.map(({ index, reason }) =>
    unknown([`GPU ${index} cannot be opened: ${formatAbsent(reason)}`])
  );
}
