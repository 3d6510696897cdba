/** What `gpuctl diff --json` says, of a job as of two snapshots. A key that only the other one has is null or empty. */
import * as v from "valibot";
import { CHANGE_KINDS, DIFF_VERDICTS, SETTLE_ENDS } from "../diff.ts";
import { SOURCE_NAMES } from "../snapshot.ts";
import { LAST_SIGNAL, OUTCOME } from "./act.ts";
import { CONTAINER, HOLDER, HOLDER_DEVICE, OWNER } from "./holder.ts";
import { PROBLEM, PROBLEMS } from "./problem.ts";
import {
  BYTES,
  COMMAND,
  COUNT,
  described,
  FLAG,
  GPU_INDEX,
  GPU_UUID,
  INSTANT,
  integer,
  list,
  MILLISECONDS,
  NOTES,
  NULLABLE_TEXT,
  oneOf,
  PID,
  record,
  SIMULATED,
  START_TICKS,
  TEXT,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const DIFF_SCHEMA_NAME = "gpuctl.diff/1";

const VERDICT = oneOf(DIFF_VERDICTS);
const SETTLE_END = v.nullable(oneOf(SETTLE_ENDS));
const SHORT_NAME = described(TEXT, "Its short name, which it chooses itself");

const HANDOVER = record({
  pid: described(PID, "Who is charged for it now"),
  from: described(list(PID), "Who was, and is gone"),
  bytes: BYTES,
});

const GPU_DIFF = record({
  index: GPU_INDEX,
  uuid: GPU_UUID,
  name: described(NULLABLE_TEXT, "Product name"),
  beforeBytes: described(v.nullable(BYTES), "Bytes in use before"),
  peakBytes: described(v.nullable(BYTES), "Most bytes in use in any sample; null for two snapshots"),
  jobPeakBytes: described(
    v.nullable(BYTES),
    "Most bytes of the job's own contexts in any sample; null for two snapshots",
  ),
  afterBytes: described(v.nullable(BYTES), "Bytes in use afterwards"),
  leftBytes: described(
    v.nullable(BYTES),
    "Bytes still in use of what came with the job, other people's changes taken out",
  ),
  othersBytes: described(
    v.nullable(integer("a whole number between -2^53 and 2^53")),
    "Bytes that other people's processes use more than before, negative where it is less; null for two snapshots",
  ),
  verdict: described(VERDICT, "What came of its memory"),
  heldBy: described(list(PID), "Who holds what is left, where the verdict is held or grew"),
  movedTo: described(list(HANDOVER), "Who took it over, where the verdict is moved"),
  releaseMs: described(
    v.nullable(MILLISECONDS),
    "Milliseconds from the end of the job until its memory was back, where the verdict is released",
  ),
  releaseBytesPerSecond: described(
    v.nullable(BYTES),
    "Bytes a second that were coming back, where the verdict is still-releasing",
  ),
  releaseWindowMs: described(v.nullable(MILLISECONDS), "Milliseconds over which that rate was measured"),
  remainingMs: described(v.nullable(MILLISECONDS), "Milliseconds that the rest takes at that rate"),
});

const LEFTOVER = record({
  ...HOLDER.entries,
  ofJob: described(FLAG, "One of the job's own processes; no other is ever ended for it"),
  why: described(TEXT, "Why it is named"),
});

const JOB_PROCESS = record({
  pid: PID,
  startTicks: START_TICKS,
  command: COMMAND,
  name: SHORT_NAME,
  peakBytes: described(v.record(TEXT, v.nullable(BYTES)), "Most bytes in any sample, by UUID of the GPU"),
});

const LINGERER = record({ pid: PID, startTicks: START_TICKS, name: SHORT_NAME });

const LEFTOVER_ACT = record({
  pid: PID,
  startTicks: START_TICKS,
  outcome: OUTCOME,
  signal: LAST_SIGNAL,
});

const JOB_CLEANUP = record({
  acts: described(list(LEFTOVER_ACT), "Every process that was to be ended"),
  freedBytes: described(v.nullable(BYTES), "Bytes in use less than before it"),
  tookMs: described(MILLISECONDS, "Milliseconds that it took"),
  settleEnd: described(oneOf(SETTLE_ENDS), "How the wait for the memory ended"),
});

const CONTEXT_CHANGE = record({
  kind: described(oneOf(CHANGE_KINDS), "What changed"),
  gpu: GPU_UUID,
  pid: PID,
  startTicks: described(v.nullable(START_TICKS), "Clock ticks from boot to its start"),
  command: COMMAND,
  name: SHORT_NAME,
  beforeBytes: described(v.nullable(BYTES), "Bytes of the context before"),
  afterBytes: described(v.nullable(BYTES), "Bytes of the context afterwards"),
});

const ORIGIN = record({
  name: described(TEXT, "Path of the file, or now"),
  takenAt: described(v.nullable(INSTANT), "When it was taken: ISO 8601, in UTC"),
  source: described(oneOf(SOURCE_NAMES), "Where it comes from"),
});

/** What changed around a job, or between two snapshots. */
export const DIFF_SCHEMA = record({
  schema: versionOf(DIFF_SCHEMA_NAME),
  kind: described(oneOf(["job", "snapshots"]), "What was compared"),
  takenAt: described(
    v.nullable(INSTANT),
    "When the look before the job, or the later snapshot, was taken: ISO 8601, in UTC",
  ),
  source: described(oneOf(SOURCE_NAMES), "Where that look comes from"),
  simulated: SIMULATED,
  command: described(NULLABLE_TEXT, "The job, quoted for a POSIX shell; null for two snapshots"),
  status: described(v.nullable(COUNT), "Its exit status; null if a signal ended it, and for two snapshots"),
  signal: described(NULLABLE_TEXT, "The signal that ended it, if one did"),
  timedOut: described(v.nullable(FLAG), "It was ended because of --timeout; null for two snapshots"),
  durationMs: described(v.nullable(MILLISECONDS), "Milliseconds that it ran; null for two snapshots"),
  settleMs: described(
    v.nullable(MILLISECONDS),
    "Milliseconds that its memory was waited for; null for two snapshots",
  ),
  settleEnd: described(SETTLE_END, "How that wait ended; null for two snapshots"),
  intervalMs: described(v.nullable(MILLISECONDS), "Milliseconds between samples; null for two snapshots"),
  samples: described(v.nullable(COUNT), "How many samples were read while it ran; null for two snapshots"),
  missedSamples: described(v.nullable(COUNT), "How many had no answer; null for two snapshots"),
  before: described(v.nullable(ORIGIN), "The earlier snapshot; null for a job"),
  after: described(v.nullable(ORIGIN), "The later snapshot; null for a job"),
  verdict: described(VERDICT, "The worst verdict of any GPU"),
  gpus: described(list(GPU_DIFF), "Every GPU that was looked at"),
  leftovers: described(list(LEFTOVER), "Live processes with memory that was not held before"),
  processes: described(list(JOB_PROCESS), "Every process of the job that the driver listed"),
  lingerers: described(list(LINGERER), "Processes of the job that live and hold no GPU memory"),
  cleanup: described(v.nullable(JOB_CLEANUP), "What --kill-leftovers did; null if nothing was to be ended"),
  changes: described(list(CONTEXT_CHANGE), "Contexts that differ between two snapshots; empty for a job"),
  notes: NOTES,
  problems: PROBLEMS,
});
export type DiffJson = v.InferOutput<typeof DIFF_SCHEMA>;
export type GpuDiffJson = v.InferOutput<typeof GPU_DIFF>;
export type LeftoverJson = v.InferOutput<typeof LEFTOVER>;
export type JobProcessJson = v.InferOutput<typeof JOB_PROCESS>;
export type LingererJson = v.InferOutput<typeof LINGERER>;
export type LeftoverActJson = v.InferOutput<typeof LEFTOVER_ACT>;
export type JobCleanupJson = v.InferOutput<typeof JOB_CLEANUP>;
export type ContextChangeJson = v.InferOutput<typeof CONTEXT_CHANGE>;
export type OriginJson = v.InferOutput<typeof ORIGIN>;

/** Definitions that the published schema names. */
export const DIFF_PARTS = {
  gpu: GPU_DIFF,
  handover: HANDOVER,
  leftover: LEFTOVER,
  holderDevice: HOLDER_DEVICE,
  owner: OWNER,
  container: CONTAINER,
  jobProcess: JOB_PROCESS,
  lingerer: LINGERER,
  jobCleanup: JOB_CLEANUP,
  leftoverAct: LEFTOVER_ACT,
  contextChange: CONTEXT_CHANGE,
  origin: ORIGIN,
  problem: PROBLEM,
};
