/** What a reader inside a container has to allow for: rows that the driver leaves out without a trace. */
import { absent } from "../core/reading.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Snapshot } from "../model/snapshot.ts";

/** Why a list may lack other people's processes, and theirs alone. */
const HIDDEN = absent("hidden", "processes outside this PID namespace are not listed");

/**
 * Calls the lists of a snapshot incomplete where its reader does not see every process: since 535.113 the driver drops,
 * without an error, the rows of pids that the reader's PID namespace does not have. Those of a job are in it.
 */
export function admitHiddenRows(snapshot: Snapshot): Snapshot {
  if (!snapshot.problems.some(({ subject }) => subject === "PID namespace")) return snapshot;
  return {
    ...snapshot,
    gpus: snapshot.gpus.map((account) => ({ ...account, gpu: admitHiddenOn(account.gpu) })),
  };
}

/** Calls the list of one GPU incomplete, for a reader that does not see every process. */
export function admitHiddenOn(gpu: Gpu): Gpu {
  if (gpu.processList.state !== "known") return gpu;
  return { ...gpu, processList: { state: "incomplete", contexts: gpu.processList.contexts, reason: HIDDEN } };
}
