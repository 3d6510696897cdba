/** A record of an act as JSON, `gpuctl.audit/1`. */
import { mapReading, valueOf } from "../core/reading.ts";
import { encodeAct } from "./act_json.ts";
import type { AuditRecord } from "./audit.ts";
import { encodeResetStep } from "./reset_step_json.ts";
import type { AuditJson } from "./schema/audit.ts";

/** The line of the record that scripts read. A missing value is null. */
export function encodeAuditRecord(entry: AuditRecord): AuditJson {
  const { at, event, by, bootId, simulated } = entry;
  return {
    schema: "gpuctl.audit/1",
    at,
    event,
    by: valueOf(mapReading(by, ({ pid, uid }) => ({ pid, uid }))) ?? null,
    bootId: valueOf(bootId) ?? null,
    simulated,
    act: "act" in entry ? encodeAct(entry.act) : null,
    step: "step" in entry ? encodeResetStep(entry.step) : null,
  };
}
