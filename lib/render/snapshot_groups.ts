/** Which holders of a table stand together, and in which order. */
import { type Holder, HOLDER_CLASSES } from "../model/snapshot.ts";
import { CONCERNS, type GpuNames } from "./snapshot_columns.ts";
import { knownParts, usedGpus } from "./snapshot_devices.ts";
import { jobKey, withoutRanks } from "./snapshot_jobs.ts";

/**
 * Holders that are told of together: of which the same was seen and for whom the same is to be done, or that are in use
 * for one job. Of what needs something the worst class comes first, then most memory; of what is in use, who has memory,
 * by GPU. The groups of one job follow each other.
 */
export function groupHolders(holders: readonly Holder[], names: GpuNames): Holder[][] {
  const groups = groupBy(holders, keyOf).map((group) => group.toSorted(compareInGroup(names)));
  const ordered = groups.toSorted(compareGroups(names));
  return groupBy(ordered, ([first]) => {
    if (first === undefined) return "";
    return first.job === undefined ? keyOf(first) : `${CONCERNS[first.class]} ${jobKey(first.job)}`;
  }).flat();
}

function keyOf(holder: Holder): string {
  const { class: kind, evidence, job, pid } = holder;
  const own = job === undefined ? undefined : jobKey(job);
  if (CONCERNS[kind] === "in-use") return own === undefined ? `in use ${pid}` : `in use for ${own}`;
  const seen = job === undefined ? evidence : evidence.map(withoutRanks);
  return JSON.stringify([kind, own ?? null, seen, withoutOwnPid(holder)]);
}

/** In the order in which each group first appears. */
function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups.values()];
}

/** A holder's advice without its own pid, which is all that differs between workers of one job. */
function withoutOwnPid({ advice, pid }: Holder): string {
  if (!advice.includes(String(pid))) return advice;
  return advice.replace(new RegExp(`((?:PID|--pid|-CONT) )${pid}\\b`, "g"), "$1");
}

type Compare<Item> = (a: Item, b: Item) => number;

/** What is told of with its reason stands as it was found: by pid. */
function compareInGroup(names: GpuNames): Compare<Holder> {
  const compare = compareGroups(names);
  return (a, b) => CONCERNS[a.class] === "in-use" ? compare([a], [b]) : 0;
}

function compareGroups(names: GpuNames): Compare<readonly Holder[]> {
  const rank = (group: readonly Holder[]): readonly number[] => {
    const [first] = group;
    if (first === undefined) return [];
    const memory = knownParts(group.flatMap(({ devices }) => devices)).reduce((sum, part) => sum + part, 0);
    const gpus = group.flatMap(({ devices }) => usedGpus(devices)).map((uuid) => names.get(uuid) ?? Infinity);
    return CONCERNS[first.class] === "in-use"
      ? [
        memory === 0 ? 1 : 0,
        gpus.reduce((least, each) => Math.min(least, each), Infinity),
        -memory,
        first.pid,
      ]
      : [HOLDER_CLASSES.indexOf(first.class), -memory, first.pid];
  };
  return (a, b) => {
    const [left, right] = [rank(a), rank(b)];
    const differing = left.findIndex((number, place) => number !== right[place]);
    return differing < 0 ? 0 : (left[differing] ?? 0) < (right[differing] ?? 0) ? -1 : 1;
  };
}
