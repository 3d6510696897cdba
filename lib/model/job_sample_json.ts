/** A recorded job, `gpuctl.samples/1`: a head line, then one line a sample. */
import type { Reading } from "../core/reading.ts";
import { quoteArguments } from "../core/text.ts";
import { contextsOf, type Gpu } from "./gpu.ts";
import type { JobSample } from "./job_sample.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const SAMPLES_SCHEMA_NAME = "gpuctl.samples/1";

/** The first line of a recording. */
export function encodeRecordingHead(command: readonly string[], startedAt: string) {
  return { schema: SAMPLES_SCHEMA_NAME, startedAt, command: quoteArguments(command) };
}

/** One sample. `why` says why there is none where `gpus` is null. */
export function encodeSample({ phase, at, report, isJobs }: JobSample) {
  const head = { elapsedMs: Math.round(at), phase };
  if (!report.ok) return { ...head, gpus: null, why: report.why };
  return {
    ...head,
    gpus: report.value.gpus.map((gpu) => ({
      gpu: gpu.uuid,
      usedBytes: orNull(gpu.memoryUsed),
      processList: gpu.processList.state,
      processes: processesOf(gpu, isJobs),
    })),
  };
}

function processesOf(gpu: Gpu, isJobs: JobSample["isJobs"]) {
  return contextsOf(gpu.processList).map(({ pid, used }) => ({
    pid,
    ofJob: isJobs(pid),
    bytes: orNull(used),
  }));
}

function orNull<T>(reading: Reading<T>): T | null {
  return reading.ok ? reading.value : null;
}
