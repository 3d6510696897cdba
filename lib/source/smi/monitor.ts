/** `pmon` and `dmon`: rows under a header that starts with `#` and may change or come again. */
import {
  emptyGpu,
  emptyListing,
  emptyPart,
  type LineFormat,
  type RawExtent,
  type RawGpu,
  type RawPart,
} from "./raw.ts";

const HEADER = /^#\s*(?:Date\s+Time\s+|YYYYMMDD\s+HH:MM:SS\s+)?gpu\s/;
const UNITS = /^#\s*(?:YYYYMMDD\s+HH:MM:SS\s+)?Idx\s/;
/** A row of pmon that has lost its header: GPU, pid, type, four numbers or more, name. Its columns have no names. */
const BARE_PMON_ROW = /^\s+\d{1,5}\s+(?:\d{1,10}|-)\s+(?:C|G|C\+G|M|M\+C|-)(?:\s+(?:\d{1,8}|-)){4,9}\s+\S/;

/** `nvidia-smi pmon`. */
export const PMON_FORMAT: LineFormat = {
  begins: (lines, at) =>
    headerOf(lines[at])?.includes("pid") === true || BARE_PMON_ROW.test((lines[at] ?? "").slice(0, 400)),
  read: (lines, at) => readMonitor(lines, at, emptyPart("pmon", at)),
};

/** `nvidia-smi dmon`. */
export const DMON_FORMAT: LineFormat = {
  begins: (lines, at) => headerOf(lines[at])?.includes("pid") === false,
  read: (lines, at) => readMonitor(lines, at, emptyPart("dmon", at)),
};

function readMonitor(lines: readonly string[], at: number, part: RawPart): RawExtent {
  let columns: readonly string[] = headerOf(lines[at]) ?? ["gpu", "pid", "type"];
  const byIndex = new Map<string, RawGpu>();
  const round = new Round();
  let line = at;
  for (; line < lines.length; line++) {
    const text = (lines[line] ?? "").trim();
    const header = headerOf(text);
    if (header) {
      if (header.includes("pid") !== (part.kind === "pmon")) break;
      columns = header;
    } else if (!UNITS.test(text)) {
      const cells = text.split(/\s+/);
      const index = cells[columns.indexOf("gpu")] ?? "";
      if (!/^\d{1,5}$/.test(index)) break;
      if (cells.length < Math.max(4, columns.length)) {
        part.problems.addLine(line + 1, text, `${columns.length} columns`);
      } else addRow({ part, columns, byIndex, round }, cells, line);
    }
  }
  return { part, end: Math.max(line, at + 1) };
}

interface MonitorState {
  readonly part: RawPart;
  readonly columns: readonly string[];
  readonly byIndex: Map<string, RawGpu>;
  readonly round: Round;
}

/** The rows of one look. Each look is one of its own, and of each GPU the last one counts. */
class Round {
  readonly #seen = new Set<string>();
  #lastIndex = -1;
  #lastPid = "";

  /** Whether the next row is the first of its GPU in a look: both tools list GPUs by rising index, and one without processes once. */
  beginsGpu(index: number, pid: string, type: string | undefined): boolean {
    const key = `${index}/${pid}/${type}`;
    const isSame = index === this.#lastIndex;
    const isNext = index < this.#lastIndex || this.#seen.has(key) ||
      (isSame && (pid === "-" || this.#lastPid === "-"));
    if (isNext) this.#seen.clear();
    this.#seen.add(key);
    this.#lastIndex = index;
    this.#lastPid = pid;
    return isNext || !isSame;
  }
}

function addRow(
  { part, columns, byIndex, round }: MonitorState,
  cells: readonly string[],
  line: number,
): void {
  const value = (name: string) => cells[columns.indexOf(name)];
  const index = value("gpu") ?? "";
  const pid = value("pid") ?? "-";
  const isFirst = round.beginsGpu(Number(index), pid, value("type"));
  const gpu = byIndex.get(index) ?? emptyGpu(line, [["index", index]]);
  if (!byIndex.has(index)) {
    byIndex.set(index, gpu);
    part.gpus.push(gpu);
  }
  const memory = withUnit(value("fb"), "MiB");
  if (part.kind === "dmon") {
    if (memory !== undefined) gpu.fields.set("memory.used", memory);
    const busy = withUnit(value("sm"), "%");
    if (busy !== undefined) gpu.fields.set("utilization.gpu", busy);
    return;
  }
  const listing = isFirst || !gpu.listing ? emptyListing("named") : gpu.listing;
  gpu.listing = listing;
  if (pid === "-") return;
  // The name is last and may hold blanks; without a header nothing says where it begins.
  const nameAt = columns.indexOf("command");
  const name = nameAt === -1 ? undefined : cells.slice(nameAt).join(" ");
  listing.rows.push({ line, pid, type: value("type"), memory, name });
}

/** nvidia-smi heads these columns `MB` and prints MiB in them, as everywhere. */
function withUnit(value: string | undefined, unit: string): string | undefined {
  return value !== undefined && /^\d{1,10}$/.test(value) ? `${value} ${unit}` : value;
}

function headerOf(line: string | undefined): readonly string[] | undefined {
  const text = (line ?? "").trim();
  return text.length < 400 && HEADER.test(text) ? text.slice(1).trim().split(/\s+/) : undefined;
}
