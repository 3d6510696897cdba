/** The holders of a snapshot for a person: who needs something done first, with what was seen and the next step. */
import { formatRanges } from "../core/ranges.ts";
import { printable } from "../core/text.ts";
import { contextsOf } from "../model/gpu.ts";
import type { Holder, HolderDevice, Snapshot } from "../model/snapshot.ts";
import { wrap } from "./layout.ts";
import {
  type Concern,
  CONCERNS,
  formatGpus,
  formatMigPlace,
  type GpuNames,
  HOLDER_COLUMNS,
  nameGpus,
  NONE,
  UNKNOWN,
} from "./snapshot_columns.ts";
import { formatMemory, usedGpus } from "./snapshot_devices.ts";
import { groupHolders } from "./snapshot_groups.ts";
import { describeJob, holdersByJob, jobKey, mergeRanks } from "./snapshot_jobs.ts";
import { type Column, layOutTable, type TableOptions } from "./table.ts";

const TITLES: Readonly<Record<Concern, string>> = {
  "left-behind": "LEFT BEHIND",
  unclear: "TO LOOK AT",
  "in-use": "IN USE",
};

/** More than this many workers without memory are named in one line: a job at work has dozens. */
const SHOWN_WORKERS = 3;

/** Blocks of lines, one for each concern that a holder has. All have the same columns. Brief, they have no reasons. */
export function holderBlocks(
  snapshot: Snapshot,
  { isBrief, ...options }: TableOptions & { readonly isBrief: boolean },
): string[][] {
  const names = nameGpus(snapshot);
  const workers = snapshot.holders.filter(isIdleWorker);
  const folded = new Set(workers.length > SHOWN_WORKERS ? workers : []);
  const groups = groupHolders(snapshot.holders.filter((holder) => !folded.has(holder)), names);
  const holders = groups.flat();
  const { header, rows } = layOutTable(holders, columnsFor(snapshot, names), options);
  const jobs = holdersByJob(snapshot.holders);
  const lineOf = new Map(holders.map((holder, place) => [holder, rows[place] ?? ""]));
  return (["left-behind", "unclear", "in-use"] as const).flatMap((concern) => {
    const own = groups.filter(([first]) => first !== undefined && CONCERNS[first.class] === concern);
    const ofJobs = jobLines(own.flat(), { jobs, names, width: options.width });
    const lines = own.flatMap((group, place) => [
      ...group.map((holder) => lineOf.get(holder) ?? ""),
      // A job of several groups, which follow each other, is told of below the first.
      ...(keyOf(own[place - 1]) === keyOf(group) ? [] : ofJobs.get(keyOf(group)) ?? []),
      ...(isBrief || concern === "in-use" ? [] : explain(group, options)),
    ]);
    const more = concern === "in-use" ? foldedLines([...folded], options) : [];
    if (lines.length + more.length === 0) return [];
    return [[
      options.paint(TITLES[concern], "bold"),
      ...(lines.length > 0 ? [header] : []),
      ...lines,
      ...more,
    ]];
  });
}

/** Says whether a holder is at work and has no memory of its own, as a data loader. */
function isIdleWorker(holder: Holder): boolean {
  return holder.class === "live" && formatMemory(holder.devices) === NONE;
}

/** Whoever has no line of their own is named all the same. */
function foldedLines(workers: readonly Holder[], { width }: TableOptions): string[] {
  if (workers.length === 0) return [];
  const pids = formatRanges(workers.map(({ pid }) => pid)).join(", ");
  return wrap(`${workers.length} more are at work and have no memory of their own: PID ${pids}`, {
    width,
    label: "  ",
  });
}

function columnsFor(snapshot: Snapshot, names: GpuNames): readonly Column<Holder>[] {
  const { pid, user, state, class: kind, command } = HOLDER_COLUMNS;
  const mig = migPlaces(snapshot);
  return [
    pid,
    user,
    { title: "GPU", align: "left", cell: (holder) => formatPlaces(holder, mig, names) || NONE },
    { title: "MEMORY", align: "right", cell: ({ devices }) => formatMemory(devices) },
    state,
    kind,
    command,
  ];
}

/** A MIG device that a process has a context on, and the GPU that it is on. */
interface MigPlace {
  readonly gpu: HolderDevice["gpu"];
  readonly name: string;
}

/** The MIG devices of each process. */
function migPlaces({ gpus }: Snapshot): ReadonlyMap<number, readonly MigPlace[]> {
  const places = new Map<number, MigPlace[]>();
  for (const { gpu } of gpus) {
    for (const { pid, gpuInstance, computeInstance } of contextsOf(gpu.processList)) {
      if (gpuInstance === undefined) continue;
      const name = formatMigPlace(gpu.index, [gpuInstance, computeInstance ?? UNKNOWN]);
      places.set(pid, [...places.get(pid) ?? [], { gpu: gpu.uuid, name }]);
    }
  }
  return places;
}

/** The GPUs of a holder; the MIG devices where its contexts are on such. */
function formatPlaces(
  { pid, devices }: Holder,
  mig: ReadonlyMap<number, readonly MigPlace[]>,
  names: GpuNames,
): string {
  const uuids = usedGpus(devices);
  const onMig = (mig.get(pid) ?? []).filter(({ gpu }) => uuids.includes(gpu)).map(({ name }) => name);
  return onMig.length > 0 ? [...new Set(onMig)].join(",") : formatGpus(uuids, names);
}

/** The job that a group is of. */
function keyOf(group: readonly Holder[] | undefined): string {
  const job = group?.[0]?.job;
  return job === undefined ? "" : jobKey(job);
}

/** A line for each job, by its key. */
function jobLines(
  shown: readonly Holder[],
  { jobs, names, width }: {
    readonly jobs: ReadonlyMap<string, readonly Holder[]>;
    readonly names: GpuNames;
    readonly width: number | undefined;
  },
): ReadonlyMap<string, readonly string[]> {
  return new Map([...holdersByJob(shown)].map(([key, members]) => {
    const line = describeJob(members, { whole: jobs.get(key) ?? members, names });
    return [key, line === undefined ? [] : wrap(line, { width, label: "      " })];
  }));
}

function explain(group: readonly Holder[], { width }: TableOptions): string[] {
  const [first, ...others] = group;
  if (first === undefined) return [];
  const why = first.evidence.flatMap((_, place) =>
    wrap(printable(mergeRanks(group.map(({ evidence }) => evidence[place] ?? ""))), {
      width,
      label: place === 0 ? "      why:  " : "      and:  ",
    })
  );
  const next = wrap(printable(first.advice), { width, label: "      next: " });
  const rest = others.map(({ pid }) => pid).join(", ");
  return others.length === 0
    ? [...why, ...next]
    : [...why, ...next, ...wrap(`the same for PID ${rest}`, { width, label: "            " })];
}
