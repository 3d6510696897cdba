/** A verdict on isolation as JSON, `gpuctl.verify-isolation/1`. */
import type { IsolatedGpu, IsolationSuspicion, IsolationVerdict, IsolationViolation } from "./isolation.ts";
import { ReasonWriter } from "./reasons.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const ISOLATION_SCHEMA_NAME = "gpuctl.verify-isolation/1";

/** Writes a verdict as a plain object for JSON. */
export function encodeIsolation(isolation: IsolationVerdict) {
  const top = new ReasonWriter("the machine");
  const { verdict, threshold, looks, longestGap, gpus, violations, suspicions, notes, problems } = isolation;
  const encoded = {
    schema: ISOLATION_SCHEMA_NAME,
    verdict,
    thresholdBytes: threshold,
    looks,
    longestGapMs: Math.round(longestGap),
    gpus: gpus.map((gpu, place) => encodeGpu(gpu, top.within(`gpus/${place}`, `GPU ${gpu.index}`))),
    violations: violations.map(encodeViolation),
    suspicions: suspicions.map(encodeSuspicion),
    notes: [...notes],
  };
  return { ...encoded, problems: top.problems(problems) };
}

function encodeGpu({ uuid, index, name, allowed, verdict, growth }: IsolatedGpu, reasons: ReasonWriter) {
  return {
    uuid,
    index,
    name: reasons.put(name, "name"),
    allowed,
    verdict,
    growthBytes: reasons.put(growth, "growthBytes"),
  };
}

function encodeViolation(violation: IsolationViolation) {
  const { gpu, index, pid, command, contextBytes, cause, explanation, fix } = violation;
  return { gpu, index, pid, command, contextBytes, cause, explanation, fix };
}

function encodeSuspicion({ gpu, index, growthBytes, message }: IsolationSuspicion) {
  return { gpu, index, growthBytes, message };
}
