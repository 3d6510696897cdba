/** One process that was ended or is to be, as the report and the record of it have it. */
import * as v from "valibot";
import { END_OUTCOMES } from "../cleanup.ts";
import { CLASS, EVIDENCE } from "./holder.ts";
import {
  BYTES,
  described,
  MILLISECONDS,
  NULLABLE_TEXT,
  oneOf,
  PID,
  record,
  START_TICKS,
  TEXT,
} from "./values.ts";

/** What became of a process. */
export const OUTCOME = described(oneOf(END_OUTCOMES), "What became of it");
/** The last signal it got. */
export const LAST_SIGNAL = described(NULLABLE_TEXT, "The last signal that was sent; null when none was");

/** A process, what was to be done with it and what came of that. */
export const ACT = record({
  pid: PID,
  startTicks: START_TICKS,
  class: CLASS,
  evidence: EVIDENCE,
  command: described(TEXT, "Its arguments, quoted for a POSIX shell, or its short name without them"),
  signal: LAST_SIGNAL,
  outcome: OUTCOME,
  bytesBefore: described(
    v.nullable(BYTES),
    "Bytes of its contexts, and of the dead ones it kept; null where not known",
  ),
  bytesAfter: described(v.nullable(BYTES), "The same afterwards; null where not known or not looked at"),
  releaseMs: described(
    v.nullable(MILLISECONDS),
    "Milliseconds from the first signal until the bytes were back; null when they were not seen to come back",
  ),
});
export type ActJson = v.InferOutput<typeof ACT>;
