/** A diagnosis as JSON, `gpuctl.doctor/1`. */
import type { Check, Diagnosis } from "./doctor.ts";
import type { CheckJson, DoctorJson } from "./schema/doctor.ts";

/** The object that scripts read. */
export function encodeDiagnosis({ takenAt, simulated, checks }: Diagnosis): DoctorJson {
  return { schema: "gpuctl.doctor/1", takenAt, simulated, checks: checks.map(encodeCheck) };
}

function encodeCheck({ id, status, title, evidence, fix, explanation, took }: Check): CheckJson {
  return {
    id,
    status,
    title,
    evidence: [...evidence],
    fix: fix ?? null,
    explanation,
    tookMs: Math.round(took),
  };
}
