/** Where this program keeps what outlives a run: locks and records. */
import { lstatSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { GpuctlError } from "../core/errors.ts";
import { stateOfPlace } from "../core/file_errors.ts";
import type { LiveSource } from "../model/source_choice.ts";
import { stuckRecordsOf } from "../source/helper/stuck.ts";

/** Who runs the program. */
export interface User {
  readonly uid: number;
  /** XDG_RUNTIME_DIR and XDG_STATE_HOME, HOME: of this user's environment. */
  readonly runtimeDirectory: string | undefined;
  readonly stateDirectory: string | undefined;
}

const PRIVATE = 0o700;

/** A file that lives until the next boot: a lock, or a note for the next run. A simulated server has its own. */
export function runtimePath(name: string, source: LiveSource, { uid, runtimeDirectory }: User): string {
  if (source.kind === "sim") return `${source.directory}/${name}`;
  return `${stuckRecordsOf(uid, runtimeDirectory).directory}/${name}`;
}

/** Where acts on a source are recorded unless told. */
export function auditPath(source: LiveSource, { uid, stateDirectory }: User): string {
  if (source.kind === "sim") return `${source.directory}/audit.jsonl`;
  return uid === 0 || stateDirectory === undefined
    ? "/var/log/gpuctl/audit.jsonl"
    : `${stateDirectory}/gpuctl/audit.jsonl`;
}

/**
 * Makes the folder of a file, for this user alone, and refuses one that somebody else could have put there.
 *
 * @throws {GpuctlError} if it cannot be made or is not this user's
 */
export function makePrivateFolder(path: string, { uid }: User): void {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true, mode: PRIVATE });
    const found = lstatSync(folder);
    if (found.isDirectory() && (found.uid === uid || found.uid === 0)) return;
  } catch (error) {
    throw new GpuctlError("refused", `Cannot use the folder ${folder}: ${stateOfPlace(error)}`, {
      cause: error,
    });
  }
  throw new GpuctlError("refused", `Cannot use the folder ${folder}: it belongs to somebody else`);
}
