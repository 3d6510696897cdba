/** What `gpuctl reset-gpu --json` says. */
import * as v from "valibot";
import { BLOCKER_CLEARERS, BLOCKER_KINDS, RESET_ADVICE, RESET_OUTCOMES } from "../reset.ts";
import { PROBLEM, PROBLEMS } from "./problem.ts";
import { RESET_STEP } from "./reset_step.ts";
import {
  BYTES,
  described,
  FLAG,
  GPU_INDEX,
  GPU_UUID,
  INSTANT,
  list,
  NULLABLE_TEXT,
  oneOf,
  PID,
  record,
  SIMULATED,
  TEXT,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const RESET_SCHEMA_NAME = "gpuctl.reset/1";

const WARRANTED = v.nullable(FLAG);

const RESET_GPU = record({
  index: GPU_INDEX,
  uuid: GPU_UUID,
  name: described(NULLABLE_TEXT, "Product name"),
  warranted: described(WARRANTED, "Whether a reset would help; null where that is not known"),
  advice: described(oneOf(RESET_ADVICE), "The one thing that helps"),
  reasons: described(list(TEXT), "What speaks for it, the strongest first"),
  processes: described(list(PID), "For end-processes: who is to be ended instead"),
  back: described(v.nullable(FLAG), "Whether it came back healthy; null where it was not reset"),
  memoryUsedBeforeBytes: described(v.nullable(BYTES), "Bytes used before; null where it was not reset"),
  memoryUsedAfterBytes: described(v.nullable(BYTES), "Bytes used after; null where it was not reset"),
  faults: described(list(TEXT), "What is not as it should be afterwards"),
});

const BLOCKER = record({
  gpu: described(v.nullable(GPU_UUID), "UUID; null for what concerns the whole machine"),
  kind: described(oneOf(BLOCKER_KINDS), "What kind of thing it is"),
  who: described(TEXT, "By name"),
  pid: described(v.nullable(PID), "Process id; null where it is no process"),
  unit: described(NULLABLE_TEXT, "The systemd unit that --stop-services stops; null without one"),
  why: described(TEXT, "Why it stands in the way"),
  remedy: described(TEXT, "What to do about it"),
  clearedBy: described(
    oneOf(BLOCKER_CLEARERS),
    "The plan itself, a flag, or nobody here; a warning blocks nothing",
  ),
});

/** A reset, or the plan of one. */
export const RESET_SCHEMA = record({
  schema: versionOf(RESET_SCHEMA_NAME),
  takenAt: INSTANT,
  simulated: SIMULATED,
  warranted: described(WARRANTED, "Whether a reset would help any of the GPUs; null where that is not known"),
  outcome: described(oneOf(RESET_OUTCOMES), "What came of it all"),
  gpus: described(list(RESET_GPU), "The GPUs that were named"),
  blockers: described(list(BLOCKER), "Everything that stands in the way, and what a reset throws away"),
  steps: described(list(RESET_STEP), "The steps in their order; empty where something stands in the way"),
  problems: PROBLEMS,
});
export type ResetJson = v.InferOutput<typeof RESET_SCHEMA>;
export type ResetGpuJson = v.InferOutput<typeof RESET_GPU>;
export type BlockerJson = v.InferOutput<typeof BLOCKER>;

/** Definitions that the published schema names. */
export const RESET_PARTS = { resetGpu: RESET_GPU, blocker: BLOCKER, resetStep: RESET_STEP, problem: PROBLEM };
