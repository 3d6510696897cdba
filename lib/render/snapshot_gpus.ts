/** The GPUs of a snapshot for a person: a line each, and below them what the numbers cannot say. */
import { nameIndexes } from "../core/ranges.ts";
import { formatAbsent } from "../core/reading.ts";
import { printable } from "../core/text.ts";
import { formatBytes } from "../core/units.ts";
import type { Gpu, MigInstance, UnreadableGpu } from "../model/gpu.ts";
import type { GpuAccount, Snapshot } from "../model/snapshot.ts";
import { wrap } from "./layout.ts";
import { cellOfBytes, formatMigPlace, GPU_COLUMNS, UNKNOWN, UTILIZATION_COLUMN } from "./snapshot_columns.ts";
import { type Column, layOutTable, type TableOptions } from "./table.ts";

type Row = GpuAccount | UnreadableGpu;

/** Lines for the GPUs, those among them that could not be read; none where there are none. */
export function gpuLines({ gpus, unreadableGpus }: Snapshot, options: TableOptions): string[] {
  if (gpus.length + unreadableGpus.length === 0) return [];
  const isBusyAsked = gpus.some(({ gpu }) => gpu.utilization.ok || gpu.utilization.why !== "not-asked");
  const columns = isBusyAsked ? [...GPU_COLUMNS, UTILIZATION_COLUMN] : GPU_COLUMNS;
  const all = [...gpus, ...unreadableGpus].sort((a, b) => indexOf(a) - indexOf(b));
  const { header, rows } = layOutTable(all, columns.map(withUnreadable), options);
  return [header, ...rows, ...noteLines(gpus, options)];
}

function indexOf(row: Row): number {
  return "gpu" in row ? row.gpu.index : row.index;
}

/** Of a GPU that could not be read only its index is known, and why. */
function withUnreadable({ tone, ...column }: Column<GpuAccount>): Column<Row> {
  const cells: Readonly<Record<string, (gpu: UnreadableGpu) => string>> = {
    GPU: ({ index }) => String(index),
    NAME: ({ reason }) => reason.why === "lost" ? "LOST" : formatAbsent(reason),
  };
  return {
    ...column,
    cell: (row) => "gpu" in row ? column.cell(row) : cells[column.title]?.(row) ?? UNKNOWN,
    tone: (row) => "gpu" in row ? tone?.(row) ?? "plain" : column.title === "NAME" ? "red" : "plain",
  };
}

/** What is true of several GPUs is said once. */
function noteLines(gpus: readonly GpuAccount[], { width }: TableOptions): string[] {
  const indexesByNote = new Map<string, number[]>();
  for (const account of gpus) {
    for (const note of notesOn(account)) {
      indexesByNote.set(note, [...indexesByNote.get(note) ?? [], account.gpu.index]);
    }
  }
  return [...indexesByNote].flatMap(([note, indexes]) =>
    wrap(printable(note), { width, label: `  ${nameIndexes(indexes)}: ` })
  );
}

function notesOn({ gpu, unattributed, cause }: GpuAccount): string[] {
  const notes: string[] = [];
  if (!gpu.memoryUsed.ok) notes.push(`memory in use is not known: ${formatAbsent(gpu.memoryUsed)}`);
  else if (!unattributed.ok && gpu.processList.state === "known") {
    notes.push(`unattributed memory is not known: ${formatAbsent(unattributed)}`);
  }
  if (unattributed.ok && cause !== undefined) {
    notes.push(`${formatBytes(unattributed.value)} unattributed: ${cause}`);
  }
  if (gpu.usedIncludesReserve.ok && gpu.usedIncludesReserve.value) {
    notes.push("memory in use includes the driver's own reserve");
  }
  if (gpu.recoveryAction.ok && gpu.recoveryAction.value !== "none") {
    notes.push(`the driver asks for recovery: ${gpu.recoveryAction.value}`);
  }
  return [...notes, ...migNotes(gpu)];
}

function migNotes({ index, migMode, migInstances }: Gpu): string[] {
  if (!migMode.ok) return [];
  const { current, pending } = migMode.value;
  const change = current === pending ? [] : [`MIG is turned ${pending ? "on" : "off"} at the next reset`];
  if (!current) return change;
  if (!migInstances.ok) return [...change, `MIG devices are not known: ${formatAbsent(migInstances)}`];
  if (migInstances.value.length === 0) return [...change, "MIG is on and has no devices"];
  return [...change, ...migInstances.value.map((instance) => describeMigInstance(index, instance))];
}

function describeMigInstance(index: number, instance: MigInstance): string {
  const { profile, gpuInstance, computeInstance, memoryUsed, memoryTotal, uuid } = instance;
  const ids = [gpuInstance, computeInstance].map((id) => id.ok ? id.value : UNKNOWN);
  const kind = profile.ok ? ` (${profile.value})` : "";
  return `MIG device ${formatMigPlace(index, ids)}${kind}: ${cellOfBytes(memoryUsed)} of ${
    cellOfBytes(memoryTotal)
  } used, ${uuid}`;
}
