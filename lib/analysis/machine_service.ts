/** Parts of the machine itself that may have a context on anybody's GPU. */
import type { Process } from "../model/process.ts";
import { findNamedRole } from "./roles.ts";

/**
 * What makes a process a part of the machine: a display, an MPS server or a known service that runs as root outside of
 * every container and job. `undefined` for all others: in a container anybody may be root and call a program anything.
 */
export function findMachineService(process: Process): string | undefined {
  const { uid, owner, namespacePids } = process;
  if (!uid.ok || uid.value !== 0 || !owner.ok || !namespacePids.ok) return undefined;
  const { container, pod, slurmJob } = owner.value;
  const isAtHome = container === undefined && pod === undefined && slurmJob === undefined &&
    namespacePids.value.length === 1;
  const role = isAtHome ? findNamedRole(process) : undefined;
  return role?.kind === "role" ? role.evidence : undefined;
}
