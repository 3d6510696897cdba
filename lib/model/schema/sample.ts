/** Lines of the file that `gpuctl diff --record` writes. */
import * as v from "valibot";
import { WHYS } from "../../core/reading.ts";
import { JOB_PHASES } from "../job_sample.ts";
import {
  BYTES,
  described,
  FLAG,
  GPU_UUID,
  INSTANT,
  list,
  MILLISECONDS,
  oneOf,
  PID,
  record,
  TEXT,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const SAMPLES_SCHEMA_NAME = "gpuctl.samples/1";

const HEAD = described(
  record({
    schema: versionOf(SAMPLES_SCHEMA_NAME),
    startedAt: described(INSTANT, "When the command was started: ISO 8601, in UTC"),
    command: described(TEXT, "The command, quoted for a POSIX shell"),
  }),
  "The first line",
);

const SAMPLED_PROCESS = record({
  pid: described(PID, "May be dead: it names who allocated, not who holds"),
  ofJob: described(FLAG, "Whether it was known as the job's at the time"),
  bytes: described(v.nullable(BYTES), "Bytes of its context; null where not known"),
});

const SAMPLED_GPU = record({
  gpu: GPU_UUID,
  usedBytes: described(v.nullable(BYTES), "Bytes in use, as the driver says; null where not known"),
  processList: described(oneOf(["known", "incomplete", "unknown"]), "What `processes` is worth"),
  processes: described(list(SAMPLED_PROCESS), "The contexts that were listed"),
});

const MOMENT = {
  elapsedMs: described(MILLISECONDS, "Milliseconds since the job's start"),
  phase: described(oneOf(JOB_PHASES), "run; settle, after its end; cleanup, while its leftovers are ended"),
};

const SAMPLE = described(
  record({ ...MOMENT, gpus: described(list(SAMPLED_GPU), "Every GPU") }),
  "A look that had an answer",
);
const MISSED_SAMPLE = described(
  record({
    ...MOMENT,
    gpus: described(v.null("null"), "No answer"),
    why: described(oneOf(WHYS), "The kind of reason"),
  }),
  "A look that had none",
);

/** One line of a recording: the first, or one for each look. */
export const SAMPLES_SCHEMA = v.union([HEAD, SAMPLE, MISSED_SAMPLE], "a line of a recording");
export type RecordingHeadJson = v.InferOutput<typeof HEAD>;
export type SampleJson = v.InferOutput<typeof SAMPLE> | v.InferOutput<typeof MISSED_SAMPLE>;
export type SampledGpuJson = v.InferOutput<typeof SAMPLED_GPU>;
export type SampledProcessJson = v.InferOutput<typeof SAMPLED_PROCESS>;

/** Definitions that the published schema names. */
export const SAMPLES_PARTS = {
  head: HEAD,
  sample: SAMPLE,
  missedSample: MISSED_SAMPLE,
  sampledGpu: SAMPLED_GPU,
  sampledProcess: SAMPLED_PROCESS,
};
