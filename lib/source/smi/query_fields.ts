/** Which fields to ask `--query-gpu` for: one that a version does not know costs the answer to all the others. */

/** Everything the model has a place for, most needed first. The last ones are missing before 450, 510 and 570. */
export const WANTED_FIELDS: readonly string[] = [
  "index",
  "uuid",
  "pci.bus_id",
  "name",
  "driver_version",
  "memory.total",
  "memory.used",
  "memory.free",
  "utilization.gpu",
  "persistence_mode",
  "compute_mode",
  "display_active",
  "mig.mode.current",
  "mig.mode.pending",
  "memory.reserved",
  "gpu_recovery_action",
];

/** The names that `--help-query-gpu` prints: in quotes at the start of a line, some with another name for the same. */
export function parseFieldNames(help: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const line of help.split("\n")) {
    if (!line.startsWith('"')) continue;
    for (const [, name] of line.matchAll(/"([\w.]{1,80})"/g)) if (name !== undefined) names.add(name);
  }
  return names;
}
