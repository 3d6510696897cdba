/** Parts of the machine itself that may have a context on anybody's GPU. */
import { absent, known, type Reading } from "../core/reading.ts";
import type { Process } from "../model/process.ts";
import { findNamedRole } from "./roles.ts";

/**
 * What makes a process a part of the machine: a display, an MPS server or a known service that runs as root outside of
 * every container and job. `undefined` for all others: in a container anybody may be root and call a program anything.
 * Absent for one that has the name of such a part where the rest could not be read.
 */
export function findMachineService(process: Process): Reading<string> | undefined {
  const { uid, owner, namespacePids, executable } = process;
  const role = findNamedRole(process);
  if (role === undefined || uid.ok && uid.value !== 0) return undefined;
  if (!uid.ok) return uid;
  if (!owner.ok) return owner;
  if (!namespacePids.ok) return namespacePids;
  const { container, pod, slurmJob } = owner.value;
  if (
    container !== undefined || pod !== undefined || slurmJob !== undefined || namespacePids.value.length > 1
  ) {
    return undefined;
  }
  if (role.kind === "role") return known(role.evidence);
  return executable.ok ? undefined : absent(executable.why, "its program");
}
