/** What `gpuctl clean-zombies --json` says. */
import * as v from "valibot";
import { ACT } from "./act.ts";
import { CLASS, GHOST, GHOST_PARTS } from "./holder.ts";
import { PROBLEM, PROBLEMS } from "./problem.ts";
import {
  BYTES,
  described,
  FLAG,
  GPU_INDEX,
  INSTANT,
  list,
  PID,
  record,
  SIMULATED,
  TEXT,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const CLEANUP_SCHEMA_NAME = "gpuctl.clean-zombies/1";

const KEPT_HOLDER = record({
  pid: PID,
  class: CLASS,
  why: described(TEXT, "Why it is left alone"),
  spared: described(
    FLAG,
    "True where it is what was asked for, and is left alone for now or for want of proof: it holds on",
  ),
});

/** A cleaning, or the plan of one. */
export const CLEANUP_SCHEMA = record({
  schema: versionOf(CLEANUP_SCHEMA_NAME),
  takenAt: described(v.nullable(INSTANT), "When the last look was taken: ISO 8601, in UTC"),
  simulated: SIMULATED,
  plan: described(FLAG, "True without --yes: nothing was done"),
  acts: described(list(ACT), "Every process that was ended, or would be"),
  heldBytes: described(
    v.nullable(BYTES),
    "Bytes that the acts held together before; null where not known",
  ),
  kept: described(list(KEPT_HOLDER), "Holders that were left alone"),
  ghosts: described(list(GHOST), "Memory of dead processes that no act explains"),
  unreadGpus: described(
    list(GPU_INDEX),
    "Indexes of GPUs to be cleaned whose process list could not be read in full",
  ),
  gaps: described(
    list(TEXT),
    "What the result rests on and could not be seen: with any, nothing found is not nothing there",
  ),
  limits: described(
    list(TEXT),
    "What nobody in this place can see, or is none of its business; it does not count against the result",
  ),
  problems: PROBLEMS,
});
export type CleanupJson = v.InferOutput<typeof CLEANUP_SCHEMA>;
export type KeptHolderJson = v.InferOutput<typeof KEPT_HOLDER>;

/** Definitions that the published schema names. */
export const CLEANUP_PARTS = { act: ACT, keptHolder: KEPT_HOLDER, ...GHOST_PARTS, problem: PROBLEM };
