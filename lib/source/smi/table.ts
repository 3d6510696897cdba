/** The plain table of drivers 352 to 610, and any piece of it: what a row is shows in its bars, not in its columns. */
import { absent } from "../../core/reading.ts";
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
import {
  cellsOf,
  findProcessCells,
  findProcessColumns,
  type ProcessColumns,
  wordsOf,
} from "./table_columns.ts";
import { collectTableRows, isBanner, isRowStart, isRuler, type TableRow } from "./table_rows.ts";
import { findAbsence, findBusId } from "./values.ts";

/** Rows of the headers, in any spacing. They hold no values. */
const HEADER_CELL =
  /^(?:GPU\s+Name|Fan\s+Temp|GPU\s+GI\s+CI|GPU\s+PID\s+Type|GPU\s+Fan|ID\s+ID|MIG\s+M\.|MIG devices:|Bus-Id|Memory-Usage)/;
const PERSISTENCE_WORDS: ReadonlySet<string> = new Set(["On", "Off", "N/A", "ERR!"]);

/** The plain table. */
export const TABLE_FORMAT: LineFormat = {
  begins(lines, at) {
    const text = (lines[at] ?? "").trim();
    if (!isRowStart(text)) return false;
    return isBanner(text) || /^[|+][-=+]{20,}/.test(text) ||
      /^\| *(?:Processes:|MIG devices:|GPU +Name)/.test(text) ||
      findProcessCells(text, undefined) !== undefined || startsGpu(cellsOf(text));
  },
  read(lines, at): RawExtent {
    const { rows, end } = collectTableRows(lines, at);
    const reader = new TableReader(at);
    for (const row of rows) reader.read(row);
    const part = reader.finish();
    // The moment stands above the banner, sometimes with an empty line or the command between.
    for (let above = at - 1; above >= Math.max(0, at - 3) && part.takenAt === undefined; above--) {
      part.takenAt = findStamp(lines[above] ?? "");
    }
    return { part, end };
  },
};

class TableReader {
  readonly #part: RawPart;
  readonly #byIndex = new Map<number, RawGpu>();
  #gpu: RawGpu | undefined;
  #title = "";
  #columns: ProcessColumns | undefined;
  /** What the process panel said of all GPUs, once there was one. */
  #panel: RawListing | undefined;
  #sawMigPanel = false;

  constructor(line: number) {
    this.#part = emptyPart("table", line);
  }

  read({ text, line, isWhole }: TableRow): void {
    if (/^[|+][-=+| ]*$/.test(text)) {
      if (isRuler(text)) this.#gpu = undefined;
      return;
    }
    if (!isWhole) return this.#reject(line, text, "a row that is not cut off");
    const process = findProcessCells(text, this.#columns);
    if (process) return this.#addProcess(process, line);
    const cells = cellsOf(text);
    if (isBanner(text)) this.#readBanner(text);
    else if (startsGpu(cells)) this.#startGpu(cells, line);
    else if (this.#gpu && cells.length === 3 && continuesGpu(cells)) {
      this.#continueGpu(this.#gpu, cells);
    } else if (cells.length >= 2 && /^\d+\s+\d+\s+\d+\s+\d+$/.test(cells[0] ?? "")) this.#addMig(cells, line);
    else this.#readPanelRow(text, line, cells);
  }

  finish(): RawPart {
    const listing = this.#panel;
    if (!listing) return this.#part;
    const isUnread = !listing.saysNone && listing.rows.length === 0 && listing.unreadable === 0 &&
      !this.#part.gpus.some((gpu) => gpu.listing !== undefined);
    if (isUnread) {
      listing.coverage = "unread";
      listing.reason ??= absent(
        "hidden",
        "a process panel with neither rows nor `No running processes found`",
      );
    }
    // Rows name their GPU, so the panel speaks of each GPU without one, too.
    for (const gpu of this.#part.gpus) {
      gpu.listing ??= { ...listing, rows: [] };
      gpu.listing.unreadable = listing.unreadable;
    }
    if (this.#part.gpus.length === 0) this.#part.loose = listing;
    return this.#part;
  }

  #readBanner(text: string): void {
    const { machine } = this.#part;
    const smi = /NVIDIA-SMI\s+(\S+)/.exec(text)?.[1];
    const driver = /(?:Driver|KMD) Version:\s*(\S+)/.exec(text)?.[1];
    const cuda = /CUDA(?: UMD)? Version:\s*(\S+)/.exec(text)?.[1];
    if (smi !== undefined) machine.set("smi_version", smi);
    if (driver !== undefined) machine.set("driver_version", driver);
    if (cuda !== undefined) machine.set("cuda_version", cuda);
  }

  #startGpu(cells: readonly string[], line: number): void {
    const [left = "", middle = ""] = cells;
    const [index = "", ...name] = wordsOf(left);
    const gpu = emptyGpu(line, [["index", index]]);
    const { fields } = gpu;
    const persistence = name.at(-1);
    if (persistence !== undefined && PERSISTENCE_WORDS.has(persistence)) {
      fields.set("persistence_mode", persistence);
      name.pop();
    }
    if (name.length > 0) fields.set("name", name.join(" "));
    const [busId, display] = wordsOf(middle);
    if (busId !== undefined) fields.set("pci.bus_id", busId);
    if (display !== undefined) fields.set("display_active", display);
    this.#gpu = gpu;
    this.#byIndex.set(Number(index), gpu);
    this.#part.gpus.push(gpu);
  }

  #continueGpu({ fields }: RawGpu, [, middle = "", right = ""]: readonly string[]): void {
    if (!fields.has("memory.used") && middle !== "") {
      const [used = "", total] = middle.split(/\s*\/\s*/);
      fields.set("memory.used", used);
      fields.set("memory.total", total ?? used);
      const [utilization, ...mode] = wordsOf(right);
      if (utilization !== undefined) fields.set("utilization.gpu", utilization);
      if (mode.length > 0) fields.set("compute_mode", mode.join(" "));
      return;
    }
    if (middle !== "") return;
    // With a star it is the mode after the next reset, and the present one is the other.
    const isPending = right.endsWith("*");
    const mode = isPending ? right.slice(0, -1) : right;
    const other = mode === "Enabled" ? "Disabled" : "Enabled";
    fields.set("mig.mode.pending", mode);
    fields.set("mig.mode.current", isPending ? other : mode);
  }

  #addMig([ids = "", memory = ""]: readonly string[], line: number): void {
    const [index = "", gpuInstance, computeInstance, device] = wordsOf(ids);
    const [used = "", total] = memory.split(/\s*\/\s*/);
    const fields = new Map([["memory.used", used], ["memory.total", total ?? used]]);
    const gpu = this.#gpuOf(index, line);
    gpu.mig ??= [];
    gpu.mig.push({ device, gpuInstance, computeInstance, fields });
    // The second line of its cell shows BAR1, in the same shape.
    this.#gpu = undefined;
  }

  #readPanelRow(text: string, line: number, cells: readonly string[]): void {
    const words = cells.join(" ").trim();
    if (words.startsWith("Processes:")) {
      this.#title = text;
      this.#panel ??= emptyListing("named");
    } else if (/^GPU\s+(?:GI\s+CI\s+)?PID\s+Type/.test(words)) {
      this.#panel ??= emptyListing("named");
      this.#columns = findProcessColumns(text, this.#title);
    } else if (words === "No running processes found") {
      this.#panel ??= emptyListing("named");
      this.#panel.saysNone = true;
    } else if (words.startsWith("MIG devices:")) this.#sawMigPanel = true;
    else if (words === "No MIG devices found") { for (const gpu of this.#part.gpus) gpu.mig ??= []; }
    else if (this.#panel && findAbsence(words)) {
      this.#panel = { ...emptyListing("unread"), reason: findAbsence(words) ?? absent("failed") };
    } else if (!this.#readUnlisted(words, line) && !this.#isHeading(cells)) {
      this.#reject(line, text, "a GPU or a process");
    }
  }

  /** `0   Not Supported`: drivers up to 384 say so for GPUs whose processes they do not list. */
  #readUnlisted(words: string, line: number): boolean {
    const [, index, rest = ""] = /^(\d{1,5})\s+(\D.*)$/.exec(words) ?? [];
    const reason = findAbsence(rest);
    if (!this.#panel || index === undefined || !reason) return false;
    this.#gpuOf(index, line).listing = { ...emptyListing("unread"), reason };
    return true;
  }

  /** Rows of a heading, and the BAR1 line under a MIG device: nothing in them is a fact about memory. */
  #isHeading(cells: readonly string[]): boolean {
    if (this.#panel === undefined && this.#sawMigPanel && (cells[0] === "" || cells.length >= 3)) return true;
    return cells.every((cell) => cell === "") || cells.some((cell) => HEADER_CELL.test(cell));
  }

  #addProcess({ gpu: index, ...row }: NonNullable<ReturnType<typeof findProcessCells>>, line: number): void {
    this.#panel ??= emptyListing("named");
    const gpu = this.#gpuOf(index, line);
    gpu.listing ??= emptyListing("named");
    gpu.listing.rows.push({ ...row, line });
    this.#gpu = undefined;
  }

  #gpuOf(index: string, line: number): RawGpu {
    const known = this.#byIndex.get(Number(index));
    if (known) return known;
    const gpu = emptyGpu(line, [["index", index]]);
    this.#byIndex.set(Number(index), gpu);
    this.#part.gpus.push(gpu);
    return gpu;
  }

  #reject(line: number, text: string, expected: string): void {
    this.#gpu = undefined;
    this.#part.problems.addLine(line + 1, text, expected);
    if (this.#panel) this.#panel.unreadable++;
  }
}

/** Whether cells are the first row of a GPU: its index and name, its address. One inside a Tegra has none. */
function startsGpu([left = "", middle = "", right]: readonly string[]): boolean {
  const [index = "", second] = wordsOf(left);
  if (right === undefined || second === undefined || !/^\d{1,5}$/.test(index)) return false;
  const [address = ""] = wordsOf(middle);
  return findBusId(address) !== undefined || address === "N/A";
}

/** Whether cells are a later row of a GPU: one that begins with the fan, or the one that has only the MIG mode. */
function continuesGpu([left = "", middle, right = ""]: readonly string[]): boolean {
  if (left === "") return middle === "" && right !== "" && !HEADER_CELL.test(right);
  return /^(?:\d{1,3}%|N\/A|ERR!)/.test(left);
}
