/** The holders of a snapshot for a person: who needs something done first, with what was seen and the next step. */
import { printable } from "../core/text.ts";
import type { Bytes } from "../core/units.ts";
import { contextsOf } from "../model/gpu.ts";
import { type Holder, HOLDER_CLASSES, type HolderDevice, type Snapshot } from "../model/snapshot.ts";
import { wrap } from "./layout.ts";
import {
  type Concern,
  CONCERNS,
  formatGpus,
  formatMigPlace,
  formatRanges,
  formatSum,
  type GpuNames,
  HOLDER_COLUMNS,
  nameGpus,
  NONE,
  UNKNOWN,
} from "./snapshot_columns.ts";
import { type Column, layOutTable, type TableOptions } from "./table.ts";

const TITLES: Readonly<Record<Concern, string>> = {
  "left-behind": "LEFT BEHIND",
  unclear: "TO LOOK AT",
  "in-use": "IN USE",
};

/** More than this many workers without memory are named in one line: a job at work has dozens. */
const SHOWN_WORKERS = 3;

/** Blocks of lines, one for each concern that a holder has. All have the same columns. */
export function holderBlocks(snapshot: Snapshot, options: TableOptions): string[][] {
  const names = nameGpus(snapshot);
  const workers = snapshot.holders.filter(isIdleWorker);
  const folded = new Set(workers.length > SHOWN_WORKERS ? workers : []);
  const groups = [...groupHolders(snapshot.holders.filter((holder) => !folded.has(holder)))].sort(
    compareGroups(names),
  );
  const holders = groups.flat();
  const { header, rows } = layOutTable(holders, columnsFor(snapshot, names), options);
  const lineOf = new Map(holders.map((holder, place) => [holder, rows[place] ?? ""]));
  return (["left-behind", "unclear", "in-use"] as const).flatMap((concern) => {
    const own = groups.filter(([first]) => first !== undefined && CONCERNS[first.class] === concern);
    const lines = own.flatMap((group) => [
      ...group.map((holder) => lineOf.get(holder) ?? ""),
      ...(concern === "in-use" ? [] : explain(group, options)),
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

/** The GPUs that say most about a holder: where it has memory, or else where it is a client, or else what it has open. */
function usedGpus(devices: readonly HolderDevice[]): HolderDevice["gpu"][] {
  const withMemory = devices.filter(({ contextBytes }) => contextBytes.ok && contextBytes.value > 0);
  const mapped = devices.filter(({ isMapped }) => isMapped.ok && isMapped.value);
  const shown = [withMemory, mapped, devices].find(({ length }) => length > 0) ?? [];
  return shown.map(({ gpu }) => gpu);
}

/** The sum over its GPUs. A part that is not known is not left out in silence. */
function formatMemory(devices: readonly HolderDevice[]): string {
  const parts = knownParts(devices);
  const isWhole = parts.length === devices.length;
  if (parts.every((part) => part === 0)) return isWhole ? NONE : UNKNOWN;
  return formatSum(parts) + (isWhole ? "" : `+${UNKNOWN}`);
}

function knownParts(devices: readonly HolderDevice[]): Bytes[] {
  return devices.flatMap(({ contextBytes }) => contextBytes.ok ? [contextBytes.value] : []);
}

/** Holders of which the same was seen and for whom the same is to be done; each holder in use stands alone. */
function groupHolders(holders: readonly Holder[]): Iterable<Holder[]> {
  const groups = new Map<string, Holder[]>();
  for (const holder of holders) {
    const key = CONCERNS[holder.class] === "in-use"
      ? String(holder.pid)
      : JSON.stringify([holder.class, holder.evidence, withoutOwnPid(holder)]);
    const group = groups.get(key);
    if (group) group.push(holder);
    else groups.set(key, [holder]);
  }
  return groups.values();
}

/** A holder's advice without its own pid, which is all that differs between workers of one job. */
function withoutOwnPid({ advice, pid }: Holder): string {
  if (!advice.includes(String(pid))) return advice;
  return advice.replace(new RegExp(`((?:PID|--pid|-CONT) )${pid}\\b`, "g"), "$1");
}

/** What needs something: by class, most memory first. What is in use: who has memory first, by GPU. */
function compareGroups(names: GpuNames): (a: Holder[], b: Holder[]) => number {
  const rank = (group: Holder[]): readonly number[] => {
    const [first] = group;
    if (first === undefined) return [];
    const gpus = usedGpus(first.devices).map((uuid) => names.get(uuid) ?? Infinity);
    const memory = knownParts(group.flatMap(({ devices }) => devices)).reduce((sum, part) => sum + part, 0);
    return CONCERNS[first.class] === "in-use"
      ? [memory === 0 ? 1 : 0, Math.min(Infinity, ...gpus), -memory, first.pid]
      : [HOLDER_CLASSES.indexOf(first.class), -memory, first.pid];
  };
  return (a, b) => {
    const [left, right] = [rank(a), rank(b)];
    const differing = left.findIndex((number, place) => number !== right[place]);
    return differing < 0 ? 0 : (left[differing] ?? 0) < (right[differing] ?? 0) ? -1 : 1;
  };
}

function explain(group: readonly Holder[], { width }: TableOptions): string[] {
  const [first, ...others] = group;
  if (first === undefined) return [];
  const why = first.evidence.flatMap((sentence, place) =>
    wrap(printable(sentence), { width, label: place === 0 ? "      why:  " : "      and:  " })
  );
  const next = wrap(printable(first.advice), { width, label: "      next: " });
  const rest = others.map(({ pid }) => pid).join(", ");
  return others.length === 0
    ? [...why, ...next]
    : [...why, ...next, ...wrap(`the same for PID ${rest}`, { width, label: "            " })];
}
