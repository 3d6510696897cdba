/**
 * Remembers, across programs, the helpers that a driver call keeps from ending. While one lives no second is started: it
 * would stick at the same place, and a timer would pile them up.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { messageOf } from "../../core/errors.ts";
import { pid } from "../../core/ids.ts";
import { clockTicks } from "../../core/units.ts";
import { isStillRunning, type ProcessIdentity } from "../../model/process.ts";
import type { ProcessTable } from "../../world/ports.ts";
import { expectNumber, expectText, parseRecord } from "./expect.ts";

/** A helper that was sent SIGKILL and did not go. */
export interface StuckHelper extends ProcessIdentity {
  /** When it was asked what it never answered; ISO 8601, UTC. */
  readonly since: string;
}

/** Where the records lie, and who may have made them. */
export interface StuckRecords {
  readonly directory: string;
  /** This user: a folder of anybody else's is not used. */
  readonly uid: number;
}

/** All that is needed to know whether a process still lives. */
export type ProcessFinder = Pick<ProcessTable, "findProcess">;

const SCHEMA = "gpuctl.stuck-helper/1";
const NAME = /^stuck-helper-\d+\.json$/;

/** The folder for the records: root's own, the session's, or one in /tmp under the user's number. */
export function stuckRecordsOf(uid: number, runtimeDirectory: string | undefined): StuckRecords {
  if (uid === 0) return { directory: "/run/gpuctl", uid };
  return {
    directory: runtimeDirectory?.startsWith("/") ? `${runtimeDirectory}/gpuctl` : `/tmp/gpuctl-${uid}`,
    uid,
  };
}

/** Finds a recorded helper that still lives, and removes the records of those that are gone. */
export function findStuckHelper(records: StuckRecords, processes: ProcessFinder): StuckHelper | undefined {
  for (const path of listRecords(records)) {
    const helper = readRecord(path);
    if (helper === undefined) continue;
    if (isAlive(helper, processes)) return helper;
    rmSync(path, { force: true });
  }
  return undefined;
}

/** Whether exactly this process still lives. A zombie without threads has let go of everything. */
export function isAlive(helper: ProcessIdentity, processes: ProcessFinder): boolean {
  const found = processes.findProcess(helper.pid);
  return found?.startTicks === helper.startTicks && isStillRunning(found);
}

/** Records a stuck helper for the programs that come after this one. Gives the reason if that is not possible. */
export function recordStuckHelper(records: StuckRecords, helper: StuckHelper): string | undefined {
  try {
    mkdirSync(records.directory, { mode: 0o700, recursive: true });
    if (!isOurs(records)) return `${records.directory} is not a private folder of this user`;
    const path = `${records.directory}/stuck-helper-${helper.pid}.json`;
    rmSync(`${path}.new`, { force: true });
    writeFileSync(`${path}.new`, `${JSON.stringify({ schema: SCHEMA, ...helper })}\n`, {
      flag: "wx",
      mode: 0o600,
    });
    renameSync(`${path}.new`, path);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function listRecords(records: StuckRecords): readonly string[] {
  try {
    if (!isOurs(records)) return [];
    return readdirSync(records.directory).filter((name) => NAME.test(name))
      .map((name) => `${records.directory}/${name}`);
  } catch {
    return []; // Most often there is no such folder; in one that we cannot list we have recorded nothing.
  }
}

/** A folder that nobody else can write to, and no link to one. */
function isOurs({ directory, uid }: StuckRecords): boolean {
  const found = lstatSync(directory);
  return found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0;
}

function readRecord(path: string): StuckHelper | undefined {
  try {
    const record = parseRecord(readFileSync(path, "utf8"));
    if (record.schema !== SCHEMA) return undefined;
    return {
      pid: pid(expectNumber(record.pid, "pid")),
      startTicks: clockTicks(expectNumber(record.startTicks, "startTicks")),
      since: expectText(record.since, "since"),
    };
  } catch {
    return undefined; // Removed meanwhile, or written by another version: it names no process that we know to be stuck.
  }
}
