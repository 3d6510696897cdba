/** What `gpuctl verify-isolation --json` says. */
import * as v from "valibot";
import { ALLOWANCES, ISOLATION_VERDICTS, STRAY_CAUSES } from "../isolation.ts";
import { OWNER } from "./holder.ts";
import { PROBLEM, PROBLEMS } from "./problem.ts";
import {
  BYTES,
  COUNT,
  described,
  FLAG,
  GPU_INDEX,
  GPU_UUID,
  list,
  MILLISECONDS,
  NOTES,
  NULLABLE_TEXT,
  oneOf,
  PID,
  record,
  SIMULATED,
  TEXT,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const ISOLATION_SCHEMA_NAME = "gpuctl.verify-isolation/1";

const VERDICT = oneOf(ISOLATION_VERDICTS);

const ISOLATED_GPU = record({
  uuid: GPU_UUID,
  index: GPU_INDEX,
  name: described(NULLABLE_TEXT, "Product name"),
  allowed: described(
    oneOf(ALLOWANCES),
    "Whether it is the job's; partly where only some MIG devices of it are",
  ),
  verdict: described(VERDICT, "The verdict on this GPU"),
  growthBytes: described(
    v.nullable(BYTES),
    "Bytes that were at most in use more than before the job, by whomever",
  ),
});

const RULE_PLACE = {
  line: described(COUNT, "Line of the rule file; 0 for a default that it does not give"),
  text: described(TEXT, "Whom the rule is for and what they may use"),
};
const RULE = record({
  ...RULE_PLACE,
  verdict: described(VERDICT, "The verdict on its processes"),
  pids: described(list(PID), "Processes with a context that it is for"),
});

const VIOLATION = record({
  gpu: GPU_UUID,
  index: GPU_INDEX,
  pid: PID,
  command: described(TEXT, "The program's name"),
  contextBytes: described(BYTES, "Most bytes that the context had in any look"),
  cause: described(oneOf(STRAY_CAUSES), "Why it stands where it should not"),
  explanation: described(TEXT, "What was seen that makes this the cause"),
  fix: described(TEXT, "What to do"),
  user: described(NULLABLE_TEXT, "Whose the process is; null, as owner, for one of the job itself"),
  owner: described(v.nullable(OWNER), "What the process belongs to"),
  rule: described(v.nullable(record(RULE_PLACE)), "The rule that it breaks; null without a rule file"),
});

const SUSPICION = record({
  gpu: GPU_UUID,
  index: GPU_INDEX,
  growthBytes: described(BYTES, "Bytes that came up where the driver names no process"),
  message: described(TEXT, "The same as a sentence"),
});

/** Whether a job stayed on the GPUs that it was given. */
export const ISOLATION_SCHEMA = record({
  schema: versionOf(ISOLATION_SCHEMA_NAME),
  simulated: SIMULATED,
  command: described(
    NULLABLE_TEXT,
    "The command that was run, quoted for a POSIX shell; null for what ran already",
  ),
  status: described(v.nullable(COUNT), "Its exit status; null if a signal ended it"),
  signal: described(NULLABLE_TEXT, "The signal that ended it, if one did"),
  timedOut: described(v.nullable(FLAG), "Whether its time ran out (--timeout)"),
  durationMs: described(v.nullable(MILLISECONDS), "Milliseconds that it ran"),
  verdict: described(VERDICT, "isolated only if every GPU was seen in every look"),
  thresholdBytes: described(BYTES, "Bytes up to which a context is tolerated"),
  looks: described(COUNT, "How many looks were taken"),
  longestGapMs: described(
    MILLISECONDS,
    "Milliseconds at most between two looks: what lived shorter may not have been seen",
  ),
  gpus: described(list(ISOLATED_GPU), "Every GPU"),
  violations: described(list(VIOLATION), "Contexts where they have no business"),
  suspicions: described(list(SUSPICION), "Memory that came up where the driver names no process"),
  rules: described(v.nullable(list(RULE)), "Every rule, its default last; null without a rule file"),
  notes: NOTES,
  problems: PROBLEMS,
});
export type IsolationJson = v.InferOutput<typeof ISOLATION_SCHEMA>;
export type IsolatedGpuJson = v.InferOutput<typeof ISOLATED_GPU>;
export type ViolationJson = v.InferOutput<typeof VIOLATION>;
export type SuspicionJson = v.InferOutput<typeof SUSPICION>;

/** Definitions that the published schema names. */
export const ISOLATION_PARTS = {
  gpu: ISOLATED_GPU,
  violation: VIOLATION,
  suspicion: SUSPICION,
  problem: PROBLEM,
};
