/** A diff for a person: what was run, each GPU, who holds what is left, and the answer in the last line. */
import { formatRanges } from "../core/ranges.ts";
import { formatAbsent } from "../core/reading.ts";
import { plural, printable } from "../core/text.ts";
import { formatBytes, formatDuration } from "../core/units.ts";
import type { EndOutcome } from "../model/cleanup.ts";
import type {
  Cleanup,
  ContextChange,
  DiffVerdict,
  GpuDiff,
  JobDiff,
  JobProcess,
  SnapshotDiff,
  SnapshotOrigin,
} from "../model/diff.ts";
import type { Problem } from "../model/snapshot.ts";
import { PLAIN } from "./colour.ts";
import { answerOfJob, answerOfSnapshots, endedPids } from "./diff_answer.ts";
import { gpuDiffLines, leftoverLines, nameProcess, newHolderLines, remarkLines } from "./diff_verdict.ts";
import { describeRun } from "./job_run.ts";
import { formatProblem } from "./problem_text.ts";
import { SIMULATED } from "./simulated.ts";
import { cellOfBytes, formatShortCommand } from "./snapshot_columns.ts";
import { type Column, layOutTable, type TableOptions } from "./table.ts";

/** A job may have thousands of processes; those with the highest peaks say what it was. */
const SHOWN_PROCESSES = 10;

/** Writes a job's diff as text. */
export function renderJobDiff(
  diff: JobDiff,
  options: TableOptions = { width: undefined, paint: PLAIN },
): string {
  const { gpus, leftovers, cleanup } = diff;
  return joinBlocks([
    [...(diff.simulated ? [SIMULATED] : []), ...remarkLines([describeRun(diff)], options)],
    gpuDiffLines(gpus, true, options),
    processLines(diff, options),
    leftoverLines(leftovers, endedPids(cleanup), options),
    cleanup ? remarkLines(cleanupLines(cleanup), options) : [],
    remarkLines(
      [...diff.notes, ...lingererNotes(diff), ...describeProblems(problemsThatMatter(diff))],
      options,
    ),
    remarkLines(
      [describeSettling(diff), answerOfJob(diff)].filter((line) => line !== ""),
      options,
    ),
  ]);
}

/** Writes a comparison of two snapshots as text. */
export function renderSnapshotDiff(
  diff: SnapshotDiff,
  options: TableOptions = { width: undefined, paint: PLAIN },
): string {
  const { before, after, gpus } = diff;
  return joinBlocks([
    [
      ...(before.simulated || after.simulated ? [SIMULATED] : []),
      ...remarkLines([`${describeOrigin(before)} compared with ${describeOrigin(after)}`], options),
    ],
    gpuDiffLines(gpus, false, options),
    changeLines(diff, options),
    newHolderLines(diff.leftovers, options),
    remarkLines([...diff.notes, ...describeProblems(diff.problems)], options),
    remarkLines([answerOfSnapshots(diff)], options),
  ]);
}

function describeOrigin({ name, takenAt }: SnapshotOrigin): string {
  return takenAt.ok ? `${printable(name)} (${takenAt.value})` : printable(name);
}

function joinBlocks(blocks: readonly (readonly string[])[]): string {
  return blocks.filter(({ length }) => length > 0).map((lines) => lines.map((line) => `${line}\n`).join(""))
    .join("\n");
}

interface ProcessPeak {
  readonly process: JobProcess;
  readonly gpu: GpuDiff;
  readonly peak: NonNullable<ReturnType<JobProcess["peaks"]["get"]>>;
}

const PROCESS_COLUMNS: readonly Column<ProcessPeak>[] = [
  { title: "PID", align: "right", cell: ({ process }) => String(process.pid) },
  { title: "GPU", align: "right", cell: ({ gpu }) => String(gpu.index) },
  { title: "PEAK", align: "right", cell: ({ peak }) => cellOfBytes(peak) },
  { title: "COMMAND", align: "left", cell: ({ process }) => formatShortCommand(process), isCutFirst: true },
];

function processLines({ processes, gpus }: JobDiff, options: TableOptions): string[] {
  const peaks = processes.flatMap((process) =>
    gpus.flatMap((gpu): ProcessPeak[] => {
      const peak = process.peaks.get(gpu.uuid);
      return peak ? [{ process, gpu, peak }] : [];
    })
  ).sort((a, b) => sizeOf(b) - sizeOf(a));
  if (peaks.length === 0) return [];
  const { header, rows } = layOutTable(peaks.slice(0, SHOWN_PROCESSES), PROCESS_COLUMNS, options);
  const more = peaks.length - rows.length;
  return [header, ...rows, ...(more > 0 ? [`and ${more} more; --json has them all`] : [])];
}

function sizeOf({ peak }: ProcessPeak): number {
  return peak.ok ? peak.value : 0;
}

const OUTCOME_WORDS: Readonly<Partial<Record<EndOutcome, string>>> = {
  ended: "ended",
  "ended-by-force": "ended by SIGKILL",
  "already-gone": "was gone already",
  changed: "was left alone: it is stuck in the driver",
  denied: "could not be signalled: permission",
  survived: "SURVIVED SIGKILL",
};

function cleanupLines({ acts, freed, took }: Cleanup): string[] {
  const back = freed.ok
    ? `${formatBytes(freed.value)} came back in ${formatDuration(took)}`
    : `how much came back is not known: ${formatAbsent(freed)}`;
  return [...acts.map(({ pid, outcome }) => `PID ${pid} ${OUTCOME_WORDS[outcome] ?? outcome}`), back];
}

function lingererNotes({ lingerers }: JobDiff): string[] {
  if (lingerers.length === 0) return [];
  const pids = formatRanges(lingerers.map(({ pid }) => pid)).join(", ");
  return [
    `${plural(lingerers.length, "process", "processes")} of the job still ${
      lingerers.length === 1 ? "runs and holds" : "run and hold"
    } no GPU memory: PID ${pids}`,
  ];
}

function describeSettling({ settleEnd, settledFor, verdict }: JobDiff): string {
  const time = formatDuration(settledFor);
  if (settleEnd === "interrupted") return `The wait for the memory was interrupted after ${time}.`;
  if (settleEnd === "unreadable") return "Nothing could be read after the job.";
  if (settleEnd === "limit" && verdict !== "released") return `Waited ${time} for the memory (--settle).`;
  return settleEnd === "stalled" ? `Nothing came back any more: given up after ${time}.` : "";
}

/** Subjects of problems that keep holders from being seen, and nothing else. */
const ABOUT_HOLDERS = ["descriptors", "processes", "PID namespace", "listed processes"];
const WITHOUT_HOLDERS: readonly DiffVerdict[] = ["released", "unchanged", "changed-by-others"];

/** That somebody else's descriptors cannot be listed says nothing about memory that is back. */
function problemsThatMatter({ verdict, problems }: JobDiff): readonly Problem[] {
  if (!WITHOUT_HOLDERS.includes(verdict)) return problems;
  return problems.filter(({ subject }) => !ABOUT_HOLDERS.includes(subject));
}

/** What both of two snapshots lack is said once. */
function describeProblems(problems: readonly Problem[]): string[] {
  return [...new Set(problems.map((problem) => `Not seen: ${formatProblem(problem, [" (", ")"])}`))];
}

type ChangeRow = ContextChange & { readonly index: number | undefined };

const CHANGE_COLUMNS: readonly Column<ChangeRow>[] = [
  { title: "CONTEXT", align: "left", cell: ({ kind }) => kind },
  { title: "PID", align: "right", cell: ({ pid }) => String(pid) },
  { title: "GPU", align: "right", cell: ({ index }) => String(index) },
  { title: "BEFORE", align: "right", cell: ({ before }) => cellOfBytes(before) },
  { title: "AFTER", align: "right", cell: ({ after }) => cellOfBytes(after) },
  { title: "COMMAND", align: "left", cell: nameProcess, isCutFirst: true },
];

function changeLines({ changes, gpus }: SnapshotDiff, options: TableOptions): string[] {
  if (changes.length === 0) return [];
  const indexes = new Map(gpus.map(({ uuid, index }) => [uuid, index]));
  const { header, rows } = layOutTable(
    changes.map((change) => ({ ...change, index: indexes.get(change.gpu) })),
    CHANGE_COLUMNS,
    options,
  );
  return [header, ...rows];
}
