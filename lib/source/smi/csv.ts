/** `--query-gpu`, `--query-compute-apps` and `--query-accounted-apps`, with a header. */
import { absent } from "../../core/reading.ts";
import { CUT_VALUE } from "./clean.ts";
import { type CsvColumn, type CsvHeader, findCsvHeader, splitCsvRow } from "./csv_columns.ts";
import { inferCsvHeader } from "./csv_headless.ts";
import {
  emptyGpu,
  emptyListing,
  emptyPart,
  type LineFormat,
  type RawExtent,
  type RawGpu,
  type RawListing,
  type RawPart,
} from "./raw.ts";
import { findStamp } from "./stamps.ts";
import { findAbsence } from "./values.ts";

/** Values that may hold commas. */
const FREE_FIELDS = ["process_name", "name"] as const;

const KINDS = {
  gpu: "gpu-csv",
  "compute-apps": "compute-apps-csv",
  "accounted-apps": "accounted-apps-csv",
} as const;

/** CSV under its header. */
export const CSV_FORMAT: LineFormat = {
  begins: (lines, at) => findCsvHeader(lines[at] ?? "") !== undefined,
  read(lines, at): RawExtent {
    const header = findCsvHeader(lines[at] ?? "") ?? { query: "gpu", columns: [] };
    return readRows(lines, at + 1, header);
  },
};

/** CSV without a header (`noheader`): read where the values themselves say what they are. */
export const HEADLESS_CSV_FORMAT: LineFormat = {
  begins: (lines, at) => inferCsvHeader(lines, at) !== undefined,
  read(lines, at): RawExtent {
    const header = inferCsvHeader(lines, at);
    if (header === undefined) return { part: emptyPart("gpu-csv", at), end: at + 1 };
    const extent = readRows(lines, at, header);
    if (header.columns.some(({ field }) => field.startsWith("?"))) {
      extent.part.problems.add(
        `line ${at + 1}`,
        absent("not-reported", "no header line"),
        "Cannot tell what some columns are: the text has no header; run the query again without noheader",
      );
    }
    return extent;
  },
};

/** Whether a line can be a row of a query with these columns; what cannot ends the output. */
export function isCsvRow(line: string, columns: readonly CsvColumn[]): boolean {
  const text = line.trim();
  if (text === "" || /^[|+#$<]/.test(text) || /^GPU \d+: |^=+NVSMI LOG=+$/.test(text)) return false;
  return columns.length === 1 || text.includes(",");
}

function readRows(lines: readonly string[], from: number, { query, columns }: CsvHeader): RawExtent {
  const part = emptyPart(KINDS[query], from);
  const gpus = new GpuRows(part);
  const processes = query === "gpu" ? undefined : new ProcessRows(part, query);
  let unreadable = 0;
  let line = from;
  for (; line < lines.length && isCsvRow(lines[line] ?? "", columns); line++) {
    const text = lines[line] ?? "";
    if (findCsvHeader(text) !== undefined) break;
    const values = splitCsvRow(text, columns);
    if (!values) {
      unreadable++;
      part.problems.addLine(line + 1, text, `${columns.length} values`);
      continue;
    }
    const fields = new Map(columns.map(({ field }, place) => [field, values[place] ?? ""]));
    // Of a row that is cut nobody can say where the one value that may hold commas ends.
    if (values.at(-1) === CUT_VALUE) { for (const name of FREE_FIELDS) fields.delete(name); }
    const stamp = findStamp(fields.get("timestamp") ?? "");
    if (stamp !== undefined) part.takenAt = stamp;
    if (processes) processes.add(fields, line, text);
    else gpus.add(fields, line);
  }
  processes?.finish(unreadable);
  return { part, end: line };
}

/** What tells GPUs apart. */
const KEYS = ["uuid", "pci.bus_id", "index"] as const;

/** Rows of GPUs. With `-l` they come again and again: of each GPU the last row counts. */
class GpuRows {
  readonly #part: RawPart;
  readonly #places = new Map<string, number>();

  constructor(part: RawPart) {
    this.#part = part;
  }

  add(fields: Map<string, string>, line: number): void {
    const { machine, gpus } = this.#part;
    for (const name of ["driver_version", "cuda_version"]) {
      const version = fields.get(name);
      if (version !== undefined) machine.set(name, version);
    }
    const gpu = { ...emptyGpu(line), fields };
    const keys = KEYS.map((name) => fields.get(name)).filter((value) =>
      value !== undefined && !findAbsence(value)
    );
    const key = keys.join();
    const place = keys.length === 0 ? undefined : this.#places.get(key);
    if (place === undefined) this.#places.set(key, gpus.push(gpu) - 1);
    else gpus[place] = gpu;
  }
}

/** Fields of a process row that speak of its GPU. */
const GPU_FIELDS = ["uuid", "pci.bus_id", "gpu_name"] as const;

class ProcessRows {
  readonly #part: RawPart;
  readonly #query: CsvHeader["query"];
  readonly #byKey = new Map<string, RawGpu>();
  readonly #loose: RawListing;
  /** The pids of the present round. */
  readonly #seen = new Map<RawListing, Set<string>>();

  constructor(part: RawPart, query: CsvHeader["query"]) {
    this.#part = part;
    this.#query = query;
    this.#loose = this.#emptyListing();
  }

  add(fields: Map<string, string>, line: number, text: string): void {
    const listing = this.#listingOf(fields, line);
    if (this.#query === "accounted-apps") return;
    const pid = fields.get("pid");
    if (pid === undefined || findAbsence(pid)) {
      listing.hidden++;
      const reason = findAbsence(pid ?? "") ?? absent("not-reported");
      this.#part.problems.add(
        `line ${line + 1}`,
        reason,
        `Line ${line + 1} hides its process: it gives no pid`,
      );
    } else if (!/^\d{1,10}$/.test(pid)) {
      listing.unreadable++;
      this.#part.problems.addLine(line + 1, text, "a pid");
    } else {
      this.#beginRound(listing, pid);
      listing.rows.push({
        line,
        pid,
        type: "C",
        name: fields.get("process_name"),
        memory: fields.get("used_gpu_memory"),
      });
    }
  }

  /** With `-l` all rows come again and again. One that was there before is of the next look, and the last look counts. */
  #beginRound(listing: RawListing, pid: string): void {
    if (!this.#seen.get(listing)?.has(pid)) {
      this.#seen.set(listing, (this.#seen.get(listing) ?? new Set()).add(pid));
      return;
    }
    for (const each of this.#seen.keys()) each.rows.length = each.hidden = 0;
    this.#seen.clear();
    this.#seen.set(listing, new Set([pid]));
  }

  /** A row that could not be split may have been of any GPU. */
  finish(unreadable: number): void {
    const { gpus } = this.#part;
    for (const { listing } of gpus) if (listing) listing.unreadable += unreadable;
    this.#loose.unreadable += unreadable;
    const { rows, hidden } = this.#loose;
    if (gpus.length === 0 || rows.length > 0 || hidden > 0) this.#part.loose = this.#loose;
  }

  #listingOf(fields: ReadonlyMap<string, string>, line: number): RawListing {
    const known = GPU_FIELDS.flatMap((field) => {
      const value = fields.get(field);
      return value === undefined || findAbsence(value) ? [] : [[field, value] as const];
    });
    const key = known.find(([field]) => field !== "gpu_name")?.[1];
    if (key === undefined) return this.#loose;
    const gpu = this.#byKey.get(key) ??
      emptyGpu(line, known.map(([field, value]) => [field === "gpu_name" ? "name" : field, value]));
    if (!this.#byKey.has(key)) {
      this.#byKey.set(key, gpu);
      this.#part.gpus.push(gpu);
    }
    return gpu.listing ??= this.#emptyListing();
  }

  #emptyListing(): RawListing {
    if (this.#query !== "accounted-apps") return emptyListing("compute");
    const reason = absent(
      "not-reported",
      "accounting keeps the peaks of processes, past ones too, not what they hold",
    );
    return { ...emptyListing("unread"), reason };
  }
}
