/** Columns of nvidia-smi's CSV. It quotes nothing, so only the columns say where a value ends. */

/** Other names of a field, as the header or the command line has them. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["gpu_uuid", "uuid"],
  ["gpu_bus_id", "pci.bus_id"],
  ["used_memory", "used_gpu_memory"],
  ["kmd_version", "driver_version"],
  ["gpu_util", "gpu_utilization"],
  ["mem_util", "mem_utilization"],
]);
/** Fields that make a line of names a header of ours. A bare `name` or `count` would not. */
const MARKS: ReadonlySet<string> = new Set([
  "index",
  "uuid",
  "gpu_name",
  "pci.bus_id",
  "pid",
  "process_name",
  "used_gpu_memory",
  "memory.used",
  "memory.total",
  "memory.free",
  "memory.reserved",
  "utilization.gpu",
  "temperature.gpu",
  "driver_version",
  "gpu_recovery_action",
  "mig.mode.current",
  "max_memory_usage",
]);
const HEADER_CELL = /^([a-z][\w.]{0,80})(?: \[([^\]]{1,8})\])?$/i;
const MOST_COLUMNS = 400;

/** One column: its field under the name that the rest of this directory uses, and the unit of values without one. */
export interface CsvColumn {
  readonly field: string;
  readonly unit: string | undefined;
}

/** What a header says: the query, and its columns in order. */
export interface CsvHeader {
  readonly query: "gpu" | "compute-apps" | "accounted-apps";
  readonly columns: readonly CsvColumn[];
}

/** The header that a line is, if it is one. */
export function findCsvHeader(line: string): CsvHeader | undefined {
  if (line.length > 16_384) return undefined;
  const cells = line.split(",", MOST_COLUMNS + 1).map((cell) => HEADER_CELL.exec(cell.trim()));
  const columns: CsvColumn[] = [];
  for (const cell of cells) {
    const name = cell?.[1];
    if (cell === null || name === undefined) return undefined;
    const field = ALIASES.get(name) ?? name;
    columns.push({ field, unit: cell[2] ?? unitOf(field) });
  }
  const has = (field: string) => columns.some((column) => column.field === field);
  if (columns.length > MOST_COLUMNS || !columns.some(({ field }) => MARKS.has(field))) return undefined;
  // One word alone is more likely prose than a query.
  if (columns.length === 1 && !/[._[]/.test(line)) return undefined;
  if (has("max_memory_usage")) return { query: "accounted-apps", columns };
  if (!has("pid") && !has("process_name") && !has("used_gpu_memory")) {
    return { query: "gpu", columns: columns.map(({ field, unit }) => ({ field: gpuField(field), unit })) };
  }
  return {
    query: "compute-apps",
    columns: columns.map(({ field, unit }) => ({ field: appField(field), unit })),
  };
}

/**
 * The values of a row, in the order of its columns. The one column that may hold commas takes what is left between the
 * columns before it and those after it. `undefined` if there are not enough values, or too many and no such column.
 */
export function splitCsvRow(line: string, columns: readonly CsvColumn[]): string[] | undefined {
  const cells = splitCells(line);
  const surplus = cells.length - columns.length;
  if (surplus < 0) return undefined;
  const free = findFreeColumn(columns);
  if (surplus > 0 && free === -1) return undefined;
  const values = surplus === 0 ? cells : [
    ...cells.slice(0, free),
    cells.slice(free, free + surplus + 1).join(","),
    ...cells.slice(free + surplus + 1),
  ];
  return values.map((value, place) => withUnit(value.trim(), columns[place]?.unit));
}

/**
 * The cells of a line. nvidia-smi writes a blank behind each comma between values, so where a line has such commas, one
 * between two digits stands within a number (`1,551 MiB`), of which the end is no value.
 */
export function splitCells(line: string): string[] {
  const isSpaced = /, /.test(line);
  return line.split(isSpaced ? /,(?!(?<=\d,)\d)/ : ",");
}

/** A process names itself and a board name comes from a list without commas, so the former takes the surplus. */
function findFreeColumn(columns: readonly CsvColumn[]): number {
  const process = columns.findIndex(({ field }) => field === "process_name");
  return process !== -1 ? process : columns.findIndex(({ field }) => field === "name");
}

/** With `nounits` the number stands alone; its unit is the one that the header or the manual gives. */
function withUnit(value: string, unit: string | undefined): string {
  return unit !== undefined && /^\d{1,15}$/.test(value) ? `${value} ${unit}` : value;
}

function unitOf(field: string): string | undefined {
  if (field.startsWith("memory.") || field === "used_gpu_memory" || field === "max_memory_usage") {
    return "MiB";
  }
  return field.startsWith("utilization.") ? "%" : undefined;
}

function gpuField(field: string): string {
  return field === "gpu_name" ? "name" : field;
}

function appField(field: string): string {
  return field === "name" ? "process_name" : field;
}
