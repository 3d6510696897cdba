import type { Act } from "./cleanup.ts";
import type { ActJson } from "./schema/act.ts";

/** Writes one act as the report of a cleaning and its record have it. */
export function encodeAct(
  { pid, startTicks, class: name, evidence, command, signal, outcome, bytesBefore, bytesAfter, releaseMs }:
    Act,
): ActJson {
  return {
    pid,
    startTicks,
    class: name,
    evidence: [...evidence],
    command,
    signal,
    outcome,
    bytesBefore,
    bytesAfter,
    releaseMs: releaseMs === null ? null : Math.round(releaseMs),
  };
}
