/**
 * What one output of nvidia-smi says, still in its own words. Each format fills this in; `report.ts` alone gives the
 * words their meaning, so that a word means the same wherever it is printed.
 */
import type { Absent } from "../../core/reading.ts";
import type { ListedHolder } from "../../model/listed_holder.ts";
import { ProblemLog } from "./problem_log.ts";
import type { Refusal } from "./refusals.ts";

/** Kinds of text that are recognised. */
export const SMI_TEXT_KINDS = [
  "query-xml",
  "query-text",
  "table",
  "gpu-csv",
  "gpu-list",
  "dmon",
  "compute-apps-csv",
  "accounted-apps-csv",
  "pmon",
  "version",
  "refusal",
  "fuser",
  "lsof",
] as const;
export type SmiTextKind = typeof SMI_TEXT_KINDS[number];

/** One process row. All values as printed, with their units. */
export interface RawProcess {
  readonly line: number;
  readonly pid: string;
  readonly type?: string | undefined;
  readonly name?: string | undefined;
  readonly memory?: string | undefined;
  readonly gpuInstance?: string | undefined;
  readonly computeInstance?: string | undefined;
}

/**
 * How much of the driver's list an output shows: `all` of it; `named` leaves out processes whose name cannot be read;
 * `compute` leaves out graphics and MPS clients; `unread` shows none and says why.
 */
export type RawCoverage = "all" | "named" | "compute" | "unread";

/** The process rows of one GPU. */
export interface RawListing {
  coverage: RawCoverage;
  readonly rows: RawProcess[];
  /** Whether it says in words that there is no process. */
  saysNone: boolean;
  /** Rows that hide even the pid. */
  hidden: number;
  /** Rows that could not be read. */
  unreadable: number;
  /** Processes that another output of the same text has on this GPU. */
  elsewhere?: number;
  /** Nothing stands behind its last row, so that rows may be missing where a text has been cut. */
  isLast?: boolean;
  /** Why an `unread` listing has no rows. */
  reason?: Absent;
}

/** One MIG device. Its fields go by the names of `RawGpu.fields`. */
export interface RawMigDevice {
  /** Its number on its GPU (`Dev` of the table, `Device 0:` of the list). */
  device: string | undefined;
  gpuInstance: string | undefined;
  computeInstance: string | undefined;
  readonly fields: Map<string, string>;
}

/** One GPU. */
export interface RawGpu {
  readonly line: number;
  /** Values as printed, with their units, under the field names of `nvidia-smi --query-gpu`. */
  readonly fields: Map<string, string>;
  /** `undefined` where the output has no place for MIG devices. */
  mig: RawMigDevice[] | undefined;
  listing: RawListing | undefined;
}

/** One output. */
export interface RawPart {
  readonly kind: SmiTextKind;
  readonly line: number;
  takenAt: string | undefined;
  /** Values of the machine as a whole: `driver_version`, `cuda_version`, `smi_version`, `nvml_version`, `attached_gpus`. */
  readonly machine: Map<string, string>;
  readonly gpus: RawGpu[];
  /** Process rows without a GPU, or what an output says of processes without naming any GPU. */
  loose: RawListing | undefined;
  readonly problems: ProblemLog;
  holders?: readonly ListedHolder[];
  refusal?: Refusal;
}

/** Where one output ends in the text: the first line that is no longer part of it. */
export interface RawExtent {
  readonly part: RawPart;
  readonly end: number;
}

/** How one kind of output begins, and how it is read from there. Line numbers count from 0 here, from 1 in messages. */
export interface LineFormat {
  begins(lines: readonly string[], at: number): boolean;
  read(lines: readonly string[], at: number): RawExtent;
}

/** A listing to be filled. */
export function emptyListing(coverage: RawCoverage): RawListing {
  return { coverage, rows: [], saysNone: false, hidden: 0, unreadable: 0 };
}

/** A part to be filled. */
export function emptyPart(kind: SmiTextKind, line: number): RawPart {
  return {
    kind,
    line,
    takenAt: undefined,
    machine: new Map(),
    gpus: [],
    loose: undefined,
    problems: new ProblemLog(),
  };
}

/** A MIG device to be filled. */
export function emptyMigDevice(): RawMigDevice {
  return { device: undefined, gpuInstance: undefined, computeInstance: undefined, fields: new Map() };
}

/** A GPU to be filled. */
export function emptyGpu(line: number, fields: Iterable<readonly [string, string]> = []): RawGpu {
  return { line, fields: new Map(fields), mig: undefined, listing: undefined };
}
