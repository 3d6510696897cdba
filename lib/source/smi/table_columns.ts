/** Cells of one row, found by its bars and words, so that lost or collapsed blanks do no harm. */

/** The cells between the bars. */
export function cellsOf(row: string): string[] {
  return row.slice(1, -1).split("|").map((cell) => cell.trim());
}

/** The words of a cell. */
export function wordsOf(cell: string): string[] {
  return cell === "" ? [] : cell.split(/\s+/);
}

/** Where the name and the memory stand in a process row, counted on a row as long as the header. */
export interface ProcessColumns {
  readonly name: number;
  readonly memory: number;
  readonly length: number;
}

/** The columns of a process panel, from the two lines of its header. `undefined` when blanks have been lost. */
export function findProcessColumns(header: string, title: string): ProcessColumns | undefined {
  const name = header.indexOf("Process name");
  // Before driver 450 `GPU Memory` stands one line above the other columns, beside `Processes:`.
  const memory = header.includes("GPU Memory") ? header.indexOf("GPU Memory") : title.indexOf("GPU Memory");
  const isSpaced = / {3,}PID {3,}/.test(header) || / {3,}PID {2,}Type/.test(header);
  return name > 0 && memory > name && isSpaced ? { name, memory, length: header.length } : undefined;
}

/** A process row taken apart. */
export interface ProcessCells {
  readonly gpu: string;
  readonly gpuInstance?: string;
  readonly computeInstance?: string;
  readonly pid: string;
  readonly type: string;
  readonly name: string;
  readonly memory: string | undefined;
}

/** GPU, since driver 450 GI and CI, PID, type; then the name, which may hold anything, and the memory. */
const PROCESS_ROW =
  /^\|\s{0,12}(\d{1,5})\s+(?:(N\/A|\d{1,9})\s+(N\/A|\d{1,9})\s+)?(\d{1,10})\s+([A-Z+]{1,5})\s+(.*)\|$/;
/** What a memory cell can hold when a row has lost its columns. */
const MEMORY_WORDS =
  /(?:^|\s)(\d{1,10}MiB|N\/A|ERR!|Not Supported|Unknown Error|GPU is lost|Insufficient Permissions|GPU requires reset)$/;

/** Takes a process row apart: by the header's columns where the row still has them, by its words otherwise. */
export function findProcessCells(row: string, columns: ProcessColumns | undefined): ProcessCells | undefined {
  const [, gpu, gpuInstance, computeInstance, pid, type, rest] = PROCESS_ROW.exec(row) ?? [];
  if (gpu === undefined || pid === undefined || type === undefined || rest === undefined) return undefined;
  const instances = gpuInstance === undefined || computeInstance === undefined
    ? {}
    : { gpuInstance, computeInstance };
  const tail = byColumns(row, rest, columns) ?? byWords(rest.trim());
  return { gpu, ...instances, pid, type, ...tail };
}

type Tail = Pick<ProcessCells, "name" | "memory">;

function byColumns(row: string, rest: string, columns: ProcessColumns | undefined): Tail | undefined {
  if (columns === undefined || row.length !== columns.length) return undefined;
  // A row whose name does not begin in its column, pushed by a long pid, is read by its words.
  if (row.length - 1 - rest.length !== columns.name || row[columns.memory - 1] !== " ") return undefined;
  const memory = row.slice(columns.memory, -1).trim();
  return { name: row.slice(columns.name, columns.memory).trim(), memory: memory === "" ? undefined : memory };
}

function byWords(rest: string): Tail {
  const memory = MEMORY_WORDS.exec(rest.slice(-40))?.[1];
  if (memory === undefined) return { name: rest, memory };
  return { name: rest.slice(0, rest.length - memory.length).trim(), memory };
}
