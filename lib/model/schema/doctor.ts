/** What `gpuctl doctor --json` says. */
import type * as v from "valibot";
import { CHECK_IDS, CHECK_STATUSES } from "../doctor.ts";
import {
  described,
  INSTANT,
  list,
  MILLISECONDS,
  NULLABLE_TEXT,
  oneOf,
  record,
  SIMULATED,
  TEXT,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const DOCTOR_SCHEMA_NAME = "gpuctl.doctor/1";

const CHECK = record({
  id: described(oneOf(CHECK_IDS), "Its name, for --only and --skip; it never changes"),
  status: described(oneOf(CHECK_STATUSES), "What came of it"),
  title: described(TEXT, "What is so when all is well"),
  evidence: described(list(TEXT), "What was seen, one sentence each, the weightiest first"),
  fix: described(NULLABLE_TEXT, "The one next thing to do; null where there is nothing to do"),
  explanation: described(TEXT, "Why it matters"),
  tookMs: described(MILLISECONDS, "From the start to this verdict: the checks run side by side"),
});

/** One diagnosis of a machine. */
export const DOCTOR_SCHEMA = record({
  schema: versionOf(DOCTOR_SCHEMA_NAME),
  takenAt: INSTANT,
  simulated: SIMULATED,
  checks: described(list(CHECK), "The checks in the order in which people go through them"),
});
export type DoctorJson = v.InferOutput<typeof DOCTOR_SCHEMA>;
export type CheckJson = v.InferOutput<typeof CHECK>;

/** Definitions that the published schema names. */
export const DOCTOR_PARTS = { check: CHECK };
