/** A recorded job, `gpuctl.samples/1`: a head line, then one line a sample. */
import type { Reading } from "../core/reading.ts";
import { quoteArguments } from "../core/text.ts";
import { contextsOf, type Gpu } from "./gpu.ts";
import type { JobSample } from "./job_sample.ts";
import type { RecordingHeadJson, SampledGpuJson, SampledProcessJson, SampleJson } from "./schema/sample.ts";

/** The first line of a recording. */
export function encodeRecordingHead(command: readonly string[], startedAt: string): RecordingHeadJson {
  return { schema: "gpuctl.samples/1", startedAt, command: quoteArguments(command) };
}

/** One sample. `why` says why there is none where `gpus` is null. */
export function encodeSample({ phase, at, report, isJobs }: JobSample): SampleJson {
  const elapsedMs = Math.round(at);
  if (!report.ok) return { elapsedMs, phase, gpus: null, why: report.why };
  return { elapsedMs, phase, gpus: report.value.gpus.map((gpu) => encodeGpu(gpu, isJobs)) };
}

function encodeGpu(gpu: Gpu, isJobs: JobSample["isJobs"]): SampledGpuJson {
  return {
    gpu: gpu.uuid,
    usedBytes: orNull(gpu.memoryUsed),
    processList: gpu.processList.state,
    processes: contextsOf(gpu.processList).map(({ pid, used }): SampledProcessJson => ({
      pid,
      ofJob: isJobs(pid),
      bytes: orNull(used),
    })),
  };
}

function orNull<T>(reading: Reading<T>): T | null {
  return reading.ok ? reading.value : null;
}
