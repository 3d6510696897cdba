/** One step of a reset, as the report and the record of it have it. */
import * as v from "valibot";
import { RESET_STEP_KINDS, STEP_STATES } from "../reset.ts";
import {
  described,
  FLAG,
  GPU_UUID,
  list,
  MILLISECONDS,
  NULLABLE_TEXT,
  oneOf,
  record,
  TEXT,
} from "./values.ts";

/** What was to be done and what came of it. */
export const RESET_STEP = record({
  kind: described(oneOf(RESET_STEP_KINDS), "What kind of step it is"),
  gpu: described(v.nullable(GPU_UUID), "UUID of its one GPU; null for a step of several, or of none"),
  unit: described(NULLABLE_TEXT, "The systemd unit that it stops or starts"),
  what: described(TEXT, "In words"),
  command: described(v.nullable(list(TEXT)), "What is run, word by word; null for what gpuctl does itself"),
  undo: described(FLAG, "Undoes an earlier step: done also after a failure"),
  state: described(oneOf(STEP_STATES), "What became of it"),
  answer: described(NULLABLE_TEXT, "What came of it, explained; null where there is nothing to say"),
  tookMs: described(v.nullable(MILLISECONDS), "Milliseconds that it took; null where it was not done"),
});
export type ResetStepJson = v.InferOutput<typeof RESET_STEP>;
