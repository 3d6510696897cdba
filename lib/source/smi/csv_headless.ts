/**
 * What the columns of a CSV without a header are. Only what the values themselves prove: of two numbers nobody can say
 * which is the used memory, so such columns get no name, and a text in which nothing is certain is not recognised.
 */
import { type CsvColumn, type CsvHeader, splitCells } from "./csv_columns.ts";
import { findStamp } from "./stamps.ts";
import { findAbsence, findBusId } from "./values.ts";

const ROWS_LOOKED_AT = 16;
const GPU_UUID = /^GPU-[\w-]{4,90}$/;
const MEMORY = /^\d{1,10} MiB$/;
const WHOLE = /^\d{1,10}$/;
const PRODUCT = /^(?:NVIDIA|Tesla|Quadro|GeForce|GRID|TITAN) /;
/** Processes are named by their path, or by nvidia-smi where it cannot name them. GPUs have neither. */
const PATH = /^(?:\.{0,2}\/|[A-Z]:\\)/;
/** No machine has so many GPUs, so a number from here on is no index. */
const NO_INDEX = 1024;

type ColumnShape = "uuid" | "bus" | "stamp" | "memory" | "whole" | "product" | "absent" | "text";

/** The query and columns that the rows from `at` on prove, or `undefined`. */
export function inferCsvHeader(lines: readonly string[], at: number): CsvHeader | undefined {
  // What a block proves it proves from its first row on; asking at each of its rows would take for ever.
  if (!isAnchored(cellsOf(lines[at] ?? "")) || isAnchored(cellsOf(lines[at - 1] ?? ""))) return undefined;
  const rows: string[][] = [];
  for (let line = at; line < lines.length && rows.length < ROWS_LOOKED_AT; line++) {
    const cells = cellsOf(lines[line] ?? "");
    if (!cells) break;
    rows.push(cells);
  }
  const width = mostCommon(rows.map(({ length }) => length));
  const even = rows.filter(({ length }) => length === width);
  const values = Array.from({ length: width }, (_, place) => even.map((row) => row[place] ?? ""));
  const shapes = values.map(shapeOf);
  return inferProcesses(shapes, values) ?? inferGpus(shapes, values);
}

function inferProcesses(shapes: readonly ColumnShape[], values: readonly string[][]): CsvHeader | undefined {
  const wholes = placesOf(shapes, "whole");
  const memories = placesOf(shapes, "memory");
  const texts = placesOf(shapes, "text");
  const [pids] = wholes;
  if (pids === undefined || wholes.length > 1 || memories.length > 1 || texts.length > 1) return undefined;
  if (shapes.includes("product") && texts.length === 0) return undefined;
  const numbers = (values[pids] ?? []).filter((value) => WHOLE.test(value)).map(Number);
  // Beside the id of a GPU alone, a number and a word may be its memory and a mode of it.
  const isProcessList = (memories.length === 1 && numbers.some((value) => value >= NO_INDEX)) ||
    (values[texts[0] ?? -1] ?? []).some((value) => PATH.test(value));
  if (!isProcessList) return undefined;
  return {
    query: "compute-apps",
    columns: shapes.map((shape, place): CsvColumn => {
      if (place === pids) return { field: "pid", unit: undefined };
      if (shape === "text") return { field: "process_name", unit: undefined };
      return shape === "memory" ? { field: "used_gpu_memory", unit: "MiB" } : identityColumn(shape, place);
    }),
  };
}

function inferGpus(shapes: readonly ColumnShape[], values: readonly string[][]): CsvHeader | undefined {
  if (!shapes.includes("uuid") && !shapes.includes("bus")) return undefined;
  const indexes = values[0] ?? [];
  // nvidia-smi lists GPUs by rising index, and people ask for it first.
  const hasIndex = shapes[0] === "whole" &&
    indexes.every((value, row) =>
      Number(value) < NO_INDEX && (row === 0 || Number(value) > Number(indexes[row - 1]))
    );
  return {
    query: "gpu",
    columns: shapes.map((shape, place): CsvColumn =>
      place === 0 && hasIndex ? { field: "index", unit: undefined } : identityColumn(shape, place)
    ),
  };
}

function identityColumn(shape: ColumnShape, place: number): CsvColumn {
  const names: Partial<Record<ColumnShape, string>> = {
    uuid: "uuid",
    bus: "pci.bus_id",
    stamp: "timestamp",
    product: "name",
  };
  return { field: names[shape] ?? `?${place}`, unit: undefined };
}

function shapeOf(values: readonly string[]): ColumnShape {
  const present = values.filter((value) => !findAbsence(value));
  if (present.length === 0) return "absent";
  const tests: readonly [ColumnShape, (value: string) => boolean][] = [
    ["uuid", (value) => GPU_UUID.test(value)],
    ["bus", (value) => findBusId(value) !== undefined],
    ["stamp", (value) => findStamp(value) !== undefined],
    ["memory", (value) => MEMORY.test(value)],
    ["whole", (value) => WHOLE.test(value)],
    ["product", (value) => PRODUCT.test(value)],
  ];
  return tests.find(([, test]) => present.every(test))?.[0] ?? "text";
}

/** Whether a row shows by itself that nvidia-smi wrote it. */
function isAnchored(cells: readonly string[] | undefined): boolean {
  return cells?.some((cell) => GPU_UUID.test(cell) || findBusId(cell) !== undefined || MEMORY.test(cell)) ===
    true;
}

function cellsOf(line: string): string[] | undefined {
  const text = line.trim();
  if (text.length > 8192 || !text.includes(",") || /^[|+#$<>]/.test(text)) return undefined;
  return splitCells(text).map((cell) => cell.trim());
}

function placesOf(shapes: readonly ColumnShape[], wanted: ColumnShape): number[] {
  return shapes.flatMap((shape, place) => shape === wanted ? [place] : []);
}

function mostCommon(counts: readonly number[]): number {
  const tally = new Map<number, number>();
  for (const count of counts) tally.set(count, (tally.get(count) ?? 0) + 1);
  return [...tally].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0] ?? 0;
}
