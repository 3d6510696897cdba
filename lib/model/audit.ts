/**
 * The record of everything that was ended or reset: what was meant is written before it is done, and what came of it
 * after.
 */
import type { Reading } from "../core/reading.ts";
import type { Act } from "./cleanup.ts";
import type { Reader } from "./observation.ts";
import type { ResetStep } from "./reset.ts";

export const AUDIT_EVENTS = ["intent", "outcome"] as const;
export type AuditEvent = typeof AUDIT_EVENTS[number];

/** Who acts, and where: the same in all records of a run. */
export interface AuditScene {
  /** gpuctl itself. */
  readonly by: Reading<Pick<Reader, "pid" | "uid">>;
  readonly bootId: Reading<string>;
  readonly simulated: boolean;
}

/** One record: of a process, or of a step of a reset. */
export type AuditRecord = AuditScene & {
  /** Wall-clock time in ISO 8601, UTC. */
  readonly at: string;
  readonly event: AuditEvent;
} & ({ readonly act: Act } | { readonly step: ResetStep });
