/** Ends what a plan names, and leaves a record of it: what cannot be recorded is not done. */
import type { PlannedAct } from "../analysis/ending.ts";
import type { AuditEvent, AuditScene } from "../model/audit.ts";
import { encodeAuditRecord } from "../model/audit_json.ts";
import type { Act } from "../model/cleanup.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { AuditLog, World } from "../world/ports.ts";
import { carryOut, type CleanOptions } from "./clean.ts";

export type EndingWorld = Pick<World, "clock" | "processes" | "openSampler"> & { readonly audit: AuditLog };

/**
 * Ends some processes and proves what that gave back.
 *
 * @throws {GpuctlError} `refused` if it cannot be recorded; nothing is ended then
 */
export async function endOnRecord(
  planned: readonly PlannedAct[],
  scene: AuditScene,
  options: CleanOptions & { readonly source: LiveSource },
  world: EndingWorld,
): Promise<Act[]> {
  const { audit, clock } = world;
  const record = (event: AuditEvent, act: Act) =>
    audit.append(encodeAuditRecord({ ...scene, at: clock.now(), event, act }));
  for (const each of planned) record("intent", plannedAct(each));
  await using sampler = await world.openSampler(options.source);
  const acts = await carryOut(planned, options, { ...world, sampler });
  for (const done of acts) record("outcome", done);
  return acts;
}

/** A planned act before anything was done. */
export function plannedAct({ identity, class: name, evidence, command, bytesBefore }: PlannedAct): Act {
  return {
    ...identity,
    class: name,
    evidence,
    command,
    signal: null,
    outcome: "planned",
    bytesBefore,
    bytesAfter: null,
    releaseMs: null,
  };
}
