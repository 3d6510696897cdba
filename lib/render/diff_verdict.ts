/** A verdict in words, and the parts that every report of a diff has. */
import { formatRanges, nameIndexes } from "../core/ranges.ts";
import { formatAbsent } from "../core/reading.ts";
import type { Pid } from "../core/ids.ts";
import { printable } from "../core/text.ts";
import { type Bytes, bytes, formatByteChange, formatBytes, formatDuration } from "../core/units.ts";
import type { DiffVerdict, GpuDiff, GpuVerdict, Leftover } from "../model/diff.ts";
import type { Holder } from "../model/snapshot.ts";
import { PLAIN, type Tone } from "./colour.ts";
import { fit, widthOf, wrap } from "./layout.ts";
import { cellOfBytes, CONCERNS, formatShortCommand, UNKNOWN } from "./snapshot_columns.ts";
import { type Column, layOutTable, type TableOptions } from "./table.ts";

const TONES = {
  "held": "red",
  "held-by-nobody-visible": "red",
  "still-releasing": "yellow",
  "moved": "red",
  "grew": "yellow",
  "unknown": "yellow",
  "changed-by-others": "plain",
  "released": "plain",
  "unchanged": "plain",
} as const satisfies Record<DiffVerdict, Tone>;

/** One GPU's verdict as a person says it: `released in 85 ms`. */
export function formatVerdict(verdict: GpuVerdict): string {
  switch (verdict.kind) {
    case "held":
      return `held by ${formatPids(verdict.by)}`;
    case "held-by-nobody-visible":
      return verdict.listed.length === 0
        ? "held by nobody that can be seen"
        : `listed for dead ${formatPids(verdict.listed)}, held by nobody that can be seen`;
    case "still-releasing": {
      const { perSecond, remaining } = verdict.rate;
      return `still coming back at ${formatBytes(perSecond)}/s, about ${formatDuration(remaining)} to go`;
    }
    case "moved":
      return verdict.handovers.map(({ from, to, bytes }) =>
        `${formatBytes(bytes)} moved from ${formatPids(from)} to PID ${to} (CUDA IPC)`
      ).join(", ");
    case "grew":
      return `${formatPids(verdict.by)} grew`;
    case "unknown":
      return `not known: ${formatAbsent(verdict.reason)}`;
    case "changed-by-others":
      return "changed by others";
    case "released":
      return verdict.in.ok ? `released in ${formatDuration(verdict.in.value)}` : "released";
    case "unchanged":
      return "unchanged";
  }
}

/** The verdict on a GPU; what it costs to be seen has words of its own. */
export function formatGpuVerdict(gpu: GpuDiff): string {
  return isSeenOnly(gpu) ? SEEN_ONLY : formatVerdict(gpu.verdict);
}

const SEEN_ONLY = "only what it costs to be seen by more processes";

/** Whether all that changed on a GPU is that others see it now: some MiB each. */
export function isSeenOnly({ verdict, others, left }: GpuDiff): boolean {
  return verdict.kind === "changed-by-others" && left.ok && left.value > 0 &&
    !(others.ok && others.value !== 0);
}

function formatPids(pids: readonly number[]): string {
  return `PID ${formatRanges(pids).join(", ")}`;
}

/** Columns of one GPU's line; those that only a job has stand in between. */
const [BEFORE, AFTER]: readonly (readonly Column<GpuDiff>[])[] = [
  [
    { title: "GPU", align: "right", cell: ({ index }) => String(index) },
    { title: "NAME", align: "left", cell: ({ name }) => name.ok ? name.value : UNKNOWN, isCutFirst: true },
    { title: "BEFORE", align: "right", cell: ({ before }) => cellOfBytes(before) },
  ],
  [
    { title: "AFTER", align: "right", cell: ({ after }) => cellOfBytes(after) },
    { title: "LEFT", align: "right", cell: ({ left }) => cellOfBytes(left) },
  ],
];
const VERDICT: Column<GpuDiff> = {
  title: "VERDICT",
  align: "left",
  cell: formatGpuVerdict,
  tone: ({ verdict }) => TONES[verdict.kind],
};
const JOB_COLUMNS: readonly Column<GpuDiff>[] = [
  { title: "PEAK", align: "right", cell: ({ peak }) => cellOfBytes(peak) },
  { title: "JOB'S PEAK", align: "right", cell: ({ jobPeak }) => cellOfBytes(jobPeak) },
];
const OTHERS: Column<GpuDiff> = {
  title: "OTHERS",
  align: "right",
  cell: ({ others }) => others.ok ? formatByteChange(others.value) : UNKNOWN,
};

/** The GPUs on which something happened, a line each; the rest, and those that are merely seen by more processes, in one. */
export function gpuDiffLines(gpus: readonly GpuDiff[], ofJob: boolean, options: TableOptions): string[] {
  const isAside = (gpu: GpuDiff) => isSeenOnly(gpu) && !(gpu.jobPeak.ok && gpu.jobPeak.value > 0);
  const shown = gpus.filter((gpu) => gpu.verdict.kind !== "unchanged" && !isAside(gpu));
  const hasOthers = shown.some(({ others }) => others.ok && others.value !== 0);
  const columns = ofJob
    ? [...BEFORE ?? [], ...JOB_COLUMNS, ...AFTER ?? [], ...(hasOthers ? [OTHERS] : [])]
    : [...BEFORE ?? [], ...AFTER ?? []];
  const whole = layOutTable(shown, [...columns, VERDICT], { ...options, width: undefined, paint: PLAIN });
  // A verdict is the last thing to cut: where there is no room it stands below, in full.
  const isWide = [whole.header, ...whole.rows].some((line) => widthOf(line) > (options.width ?? Infinity));
  const { header, rows } = layOutTable(shown, isWide ? columns : [...columns, VERDICT], options);
  const seen = gpus.filter(isAside).map(({ index }) => index);
  const rest = gpus.filter(({ verdict }) => verdict.kind === "unchanged").map(({ index }) => index);
  const say = (text: string) => wrap(printable(text), { width: options.width, label: "" });
  return [
    ...(shown.length === 0 ? [] : [header, ...rows]),
    ...(isWide ? shown.flatMap((gpu) => say(`${nameIndexes([gpu.index])}: ${formatGpuVerdict(gpu)}`)) : []),
    ...(seen.length === 0 ? [] : say(`${nameIndexes(seen)}: ${SEEN_ONLY}`)),
    ...(rest.length === 0 ? [] : [`${nameIndexes(rest)}: unchanged`]),
  ];
}

/** Who holds what a job left, with what was seen and the next step. `ended` are those that were ended for it since. */
export function leftoverLines(
  leftovers: readonly Leftover[],
  ended: ReadonlySet<Pid>,
  options: TableOptions,
): string[] {
  const next = (leftover: Leftover) =>
    ended.has(leftover.holder.pid) ? "None: gpuctl has ended it." : nextStep(leftover);
  return titledLeftovers("LEFT BEHIND", leftovers, next, options);
}

/** Who holds what was not held at an earlier look. Whoever is at work has left nothing behind. */
export function newHolderLines(leftovers: readonly Leftover[], options: TableOptions): string[] {
  const isLeft = ({ holder }: Leftover) => CONCERNS[holder.class] === "left-behind";
  const advice = ({ holder }: Leftover) => holder.advice;
  return [
    ...titledLeftovers("LEFT BEHIND", leftovers.filter(isLeft), advice, options),
    ...titledLeftovers(
      "HELD NOW AND NOT BEFORE",
      leftovers.filter((each) => !isLeft(each)),
      advice,
      options,
    ),
  ];
}

function titledLeftovers(
  title: string,
  leftovers: readonly Leftover[],
  next: (leftover: Leftover) => string,
  { width, paint }: TableOptions,
): string[] {
  if (leftovers.length === 0) return [];
  return [
    paint(title, "bold"),
    ...leftovers.flatMap((leftover) => {
      const { holder, why } = leftover;
      const head = `PID ${holder.pid}  ${holder.class}  ${printable(nameProcess(holder))}`;
      return [
        width === undefined ? head : fit(head, width),
        ...[why, ...holder.evidence].flatMap((sentence, place) =>
          wrap(printable(sentence), { width, label: place === 0 ? "      why:  " : "            " })
        ),
        ...wrap(printable(next(leftover)), { width, label: "      next: " }),
      ];
    }),
  ];
}

/** The command of a process, the dead and the nameless too. */
export function nameProcess(process: Pick<Holder, "argv" | "name">): string {
  if (!process.argv.ok && process.argv.why === "exited") return "(dead)";
  return process.argv.ok || process.name !== "" ? formatShortCommand(process) : UNKNOWN;
}

/** What a class alone advises is meant for a machine at rest; a job's own process may be ended with the job. */
function nextStep({ holder, isJobs }: Leftover): string {
  if (!isJobs || CONCERNS[holder.class] !== "in-use") return holder.advice;
  return "Make the job end it. --kill-leftovers ends what is the job's own, and nothing else.";
}

/** Notes and problems, a sentence each. */
export function remarkLines(sentences: readonly string[], { width }: TableOptions): string[] {
  return sentences.flatMap((sentence) => wrap(printable(sentence), { width, label: "" }));
}

/** Everything that some GPUs have left; `undefined` where one of them does not say. */
export function totalLeft(gpus: readonly GpuDiff[]): string | undefined {
  const sum = sumLeft(gpus);
  return sum === undefined ? undefined : formatBytes(sum);
}

/** The same as a number. */
export function sumLeft(gpus: readonly GpuDiff[]): Bytes | undefined {
  let sum = 0;
  for (const { left } of gpus) {
    if (!left.ok) return undefined;
    sum += left.value;
  }
  return bytes(sum);
}
