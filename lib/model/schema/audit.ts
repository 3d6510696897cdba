/** One line of the record of everything that was ended or reset. */
import * as v from "valibot";
import { AUDIT_EVENTS } from "../audit.ts";
import { ACT } from "./act.ts";
import { RESET_STEP } from "./reset_step.ts";
import {
  described,
  INSTANT,
  NULLABLE_TEXT,
  oneOf,
  PID,
  record,
  SIMULATED,
  UID,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const AUDIT_SCHEMA_NAME = "gpuctl.audit/1";

const ACTOR = record({ pid: PID, uid: UID });

/** Written before an act as what is meant, and after it as what came of it. */
export const AUDIT_SCHEMA = record({
  schema: versionOf(AUDIT_SCHEMA_NAME),
  at: described(INSTANT, "When it was written: ISO 8601, in UTC"),
  event: described(oneOf(AUDIT_EVENTS), "intent before anything is done, outcome after it"),
  by: described(v.nullable(ACTOR), "The gpuctl that acted; null where /proc could not be read"),
  bootId: described(NULLABLE_TEXT, "Of the machine; start times compare only within a boot"),
  simulated: SIMULATED,
  act: described(v.nullable(ACT), "The process, and what came of it; null for a step of a reset"),
  step: described(v.nullable(RESET_STEP), "The step of a reset; null for a process"),
});
export type AuditJson = v.InferOutput<typeof AUDIT_SCHEMA>;

/** Definitions that the published schema names. */
export const AUDIT_PARTS = { actor: ACTOR, act: ACT, step: RESET_STEP };
