/** Lines that `gpuctl watch` writes where it has no terminal. */
import * as v from "valibot";
import { HOLDER_CLASSES } from "../snapshot.ts";
import { ALERT_KINDS, SEVERITIES } from "../watch.ts";
import { PROBLEM, PROBLEMS } from "./problem.ts";
import {
  BYTES,
  described,
  GPU_INDEX,
  GPU_UUID,
  INSTANT,
  list,
  MILLISECONDS,
  NULLABLE_TEXT,
  oneOf,
  PERCENT,
  PID,
  record,
  SIMULATED,
  TEXT,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const WATCH_SCHEMA_NAME = "gpuctl.watch/1";

const WATCHED_PROCESS = record({
  pid: described(PID, "May be dead: it names who allocated, not who holds"),
  class: described(
    v.nullable(oneOf(HOLDER_CLASSES)),
    "What it is; null where it is dead. docs/classes.md explains each",
  ),
  contextBytes: described(v.nullable(BYTES), "Bytes of its contexts there; null where not known"),
});

const WATCHED_GPU = record({
  index: GPU_INDEX,
  uuid: GPU_UUID,
  memoryTotalBytes: described(v.nullable(BYTES), "All of its memory"),
  memoryUsedBytes: described(v.nullable(BYTES), "In use, as the driver says"),
  unattributedBytes: described(v.nullable(BYTES), "In use, and in no listed context"),
  utilizationPercent: described(
    v.nullable(PERCENT),
    "How busy it was when that was last asked, at most 10 s ago",
  ),
  processList: described(oneOf(["known", "incomplete", "unknown"]), "What `processes` is worth"),
  processes: described(list(WATCHED_PROCESS), "Who has contexts there"),
});

const ALERT_GPU = record({
  index: GPU_INDEX,
  uuid: described(v.nullable(GPU_UUID), "null for a GPU that was never readable"),
});

const ALERT_PROCESS = record({
  pid: described(PID, "May be dead: it names who allocated, not who holds"),
  command: described(NULLABLE_TEXT, "Its arguments, quoted for a POSIX shell; a short name in brackets"),
});

const HEAD = {
  schema: versionOf(WATCH_SCHEMA_NAME),
};
const EVENT = "sample: how things stand; alert: something begins to be so; cleared: it is over";
const AT = { at: described(INSTANT, "When it was seen, ISO 8601 in UTC") };

const TOLD = {
  kind: described(oneOf(ALERT_KINDS), "What it is about"),
  severity: described(oneOf(SEVERITIES), "As syslog names it: err is worst"),
  key: described(TEXT, "The same for the same thing: joins an alert and its end"),
  gpu: described(v.nullable(ALERT_GPU), "The GPU it is about; null where it is about none"),
  process: described(v.nullable(ALERT_PROCESS), "The process it is about; null where it is about none"),
  since: described(INSTANT, "Since when it is known to be so"),
  message: described(TEXT, "What is the matter, as a sentence"),
};

const WATCH_SAMPLE = described(
  record({
    ...HEAD,
    event: described(v.literal("sample", "sample"), EVENT),
    ...AT,
    elapsedMs: described(MILLISECONDS, "Milliseconds since the watch began"),
    simulated: SIMULATED,
    gpus: described(
      v.nullable(list(WATCHED_GPU)),
      "Every watched GPU that could be asked; null without an answer",
    ),
    processesAgeMs: described(MILLISECONDS, "How long ago every process was looked at"),
    alerts: described(list(TEXT), "Keys of the alerts that stand"),
    problems: PROBLEMS,
  }),
  "One moment",
);
const WATCH_ALERT = described(
  record({
    ...HEAD,
    event: described(v.literal("alert", "alert"), EVENT),
    ...AT,
    ...TOLD,
    evidence: described(list(TEXT), "What was seen that makes it so"),
    advice: described(TEXT, "The one next thing to do"),
  }),
  "Once, when it begins",
);
const WATCH_CLEARED = described(
  record({
    ...HEAD,
    event: described(v.literal("cleared", "cleared"), EVENT),
    ...AT,
    ...TOLD,
    lastedMs: described(MILLISECONDS, "From its first sight to its end"),
  }),
  "Once, when it is over",
);

/** One line. */
export const WATCH_SCHEMA = v.union([WATCH_SAMPLE, WATCH_ALERT, WATCH_CLEARED], "a line of a watch");
export type WatchSampleJson = v.InferOutput<typeof WATCH_SAMPLE>;
export type WatchedGpuJson = v.InferOutput<typeof WATCHED_GPU>;
export type WatchEventJson = v.InferOutput<typeof WATCH_ALERT> | v.InferOutput<typeof WATCH_CLEARED>;

/** Definitions that the published schema names. */
export const WATCH_PARTS = {
  sample: WATCH_SAMPLE,
  alert: WATCH_ALERT,
  cleared: WATCH_CLEARED,
  watchedGpu: WATCHED_GPU,
  watchedProcess: WATCHED_PROCESS,
  alertGpu: ALERT_GPU,
  alertProcess: ALERT_PROCESS,
  problem: PROBLEM,
};
