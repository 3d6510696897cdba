/** What stands in the way of a reset, for a person: a table where it fits, else a block for each. */
import { printable } from "../core/text.ts";
import type { GpuUuid } from "../core/ids.ts";
import type { Blocker, BlockerClearer } from "../model/reset.ts";
import type { Tone } from "./colour.ts";
import { widthOf, wrap } from "./layout.ts";
import { formatGpus, type GpuNames, NONE } from "./snapshot_columns.ts";
import { type Column, layOutTable, type TableOptions } from "./table.ts";

const CLEARER_WORDS = {
  nobody: "you",
  "stop-services": "--stop-services",
  evict: "--evict",
  plan: "gpuctl",
  warning: NONE,
} as const satisfies Record<BlockerClearer, string>;
const CLEARER_TONES = {
  nobody: "red",
  "stop-services": "yellow",
  evict: "yellow",
  plan: "plain",
  warning: "plain",
} as const satisfies Record<BlockerClearer, Tone>;

/** One line: what is the same on several GPUs stands once. */
interface Row {
  readonly gpus: string;
  readonly blocker: Blocker;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "GPU", align: "left", cell: ({ gpus }) => gpus },
  { title: "WHO", align: "left", cell: ({ blocker }) => blocker.who },
  { title: "WHY", align: "left", cell: ({ blocker }) => blocker.why },
  {
    title: "CLEARED BY",
    align: "left",
    cell: ({ blocker }) => CLEARER_WORDS[blocker.clearedBy],
    tone: ({ blocker }) => CLEARER_TONES[blocker.clearedBy],
  },
  { title: "WHAT TO DO", align: "left", cell: ({ blocker }) => blocker.remedy },
];

/** The lines about some blockers, in their order. No word of them is cut: they may be commands. */
export function blockerLines(
  blockers: readonly Blocker[],
  names: GpuNames,
  options: TableOptions,
): string[] {
  if (blockers.length === 0) return [];
  const rows = mergeRows(blockers, names);
  const { header, rows: lines } = layOutTable(rows, COLUMNS, { ...options, width: undefined });
  const widest = Math.max(...lines.map(widthOf));
  if (options.width === undefined || widest <= options.width) return [header, ...lines];
  return rows.flatMap((row) => stackedLines(row, options));
}

function mergeRows(blockers: readonly Blocker[], names: GpuNames): Row[] {
  const groups = new Map<string, { readonly blocker: Blocker; readonly gpus: GpuUuid[] }>();
  for (const blocker of blockers) {
    const { kind, who, why, remedy, clearedBy, gpu } = blocker;
    const key = JSON.stringify([kind, who, why, remedy, clearedBy, gpu === undefined]);
    const group = groups.get(key) ?? { blocker, gpus: [] };
    if (gpu !== undefined) group.gpus.push(gpu);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ blocker, gpus }) => ({
    blocker,
    gpus: gpus.length === 0 ? NONE : formatGpus(gpus, names),
  }));
}

function stackedLines({ gpus, blocker }: Row, { width, paint }: TableOptions): string[] {
  const { who, why, remedy, clearedBy } = blocker;
  const by = clearedBy === "warning" ? "" : `  [${CLEARER_WORDS[clearedBy]}]`;
  const place = gpus === NONE ? "" : `GPU ${gpus}: `;
  return [
    ...wrap(`${place}${printable(who)}${paint(by, CLEARER_TONES[clearedBy])}`, { width, label: "  " }),
    ...wrap(printable(why), { width, label: "      " }),
    ...wrap(printable(remedy), { width, label: "    > " }),
  ];
}
