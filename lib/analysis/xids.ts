/**
 * What the driver's errors mean. Classes after NVIDIA's catalogue of Xid errors (docs.nvidia.com/deploy/xid-errors, as of
 * October 2025); names in nverror.h of the open kernel modules, 595.
 */
import type { BusId } from "../core/ids.ts";
import { valueOf } from "../core/reading.ts";
import { formatDuration, milliseconds } from "../core/units.ts";
import type { XidEvent } from "../model/reset_facts.ts";
import type { OwnKill } from "./reset_input.ts";

/**
 * What kind of error an Xid is:
 *
 * - `application`: the program's own; it is to be started again, the GPU is fine
 * - `informational`: says something, or follows another Xid
 * - `preemption`: a channel was taken from a process that ended or was ended
 * - `reset`: the GPU wants a reset
 * - `drain`: let its jobs end, then reset
 * - `reboot`: the GPU is lost until the machine restarts
 * - `restart-vm`: the virtual machine wants a restart
 * - `hardware`: power or set-up, to be mended by hand
 * - `recovery-action`: the driver says which action it asks for now; decides over all others
 * - `unclassified`: the catalogue does not say
 */
export type XidClass =
  | ("application" | "informational" | "preemption" | "reset" | "drain" | "reboot" | "restart-vm")
  | ("hardware" | "recovery-action" | "unclassified");

/** What an Xid asks for. */
export type XidAction = "none" | "reset" | "drain" | "reboot" | "unknown";

interface XidClassEntry {
  readonly class: XidClass;
  readonly action: XidAction;
  readonly meaning: string;
  readonly xids: readonly number[];
}

const CATALOGUE: readonly XidClassEntry[] = [
  {
    class: "application",
    action: "none",
    meaning: "a program's own error: start it again",
    xids: [
      ...[8, 11, 13, 25, 31, 32, ...range(39, 41), 60, ...range(68, 72), ...range(75, 77), 80],
      ...[...range(82, 86), 88, 89, 94, ...range(96, 105), ...range(126, 135), 139],
    ],
  },
  {
    class: "informational",
    action: "none",
    meaning: "a notice, or the consequence of another error",
    xids: [
      ...[14, 37, 38, 43, 44, 63, 66, 67, 92, 93, ...range(106, 108), 121, 137, 141, 147, 148, 152, 153],
      ...[157, 160, 161],
    ],
  },
  { class: "preemption", action: "none", meaning: "a process was ended while it used the GPU", xids: [45] },
  {
    class: "reset",
    action: "reset",
    meaning: "asks for a reset",
    xids: [46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 150, 155, 156, 158],
  },
  {
    class: "drain",
    action: "drain",
    meaning: "a double-bit memory error: drain the GPU, then reset it",
    xids: [48],
  },
  {
    class: "reset",
    action: "reset",
    meaning: "an NVLink error: asks for a reset of both ends",
    xids: [74, 144, 145, 146, 149],
  },
  { class: "reboot", action: "reboot", meaning: "the GPU has fallen off the bus", xids: [79] },
  {
    class: "restart-vm",
    action: "reboot",
    meaning: "asks for a restart of the virtual machine",
    xids: [151],
  },
  { class: "hardware", action: "unknown", meaning: "power cables or set-up: check by hand", xids: [54, 78] },
  { class: "recovery-action", action: "none", meaning: "the recovery action has changed", xids: [154] },
];
const UNCLASSIFIED = { class: "unclassified", action: "unknown", meaning: "not in the catalogue" } as const;
/** Xids of NVLink 5 whose text says whether the error is fatal; only then they ask for anything. */
const WITH_SEVERITY: readonly number[] = [144, 145, 146, 149];
/** What the driver may log about a process because it was ended. */
const AFTER_A_KILL: readonly number[] = [31, 43, 45];
/** How far such a line may be from the moment on record: that is written once the memory is back, or given up. */
const KILL_WINDOW_US = 60_000_000;

/** What one Xid is and asks for. */
export function classifyXid(
  { xid, text }: Pick<XidEvent, "xid" | "text">,
): { readonly class: XidClass; readonly action: XidAction; readonly meaning: string } {
  if (WITH_SEVERITY.includes(xid) && /\bnon-?fatal\b/i.test(text)) {
    return { class: "informational", action: "none", meaning: "an NVLink error that is not fatal" };
  }
  const { class: name, action, meaning } = CATALOGUE.find(({ xids }) => xids.includes(xid)) ?? UNCLASSIFIED;
  return { class: name, action: xid === 154 ? actionOfText(text) : action, meaning };
}

/** The action that the text of an Xid 154 ends with: `… changed from 0x0 (None) to 0x2 (Node Reboot Required)`. */
function actionOfText(text: string): XidAction {
  const words = /.*\bto\b[^(]*\(([^)]*)\)/i.exec(text)?.[1]?.trim().toLowerCase();
  if (words === undefined) return "unknown";
  if (words === "none") return "none";
  if (/\breboot\b|power/.test(words)) return "reboot";
  if (/\bdrain\b/.test(words)) return "drain";
  return /\breset\b|\bflr\b/.test(words) ? "reset" : "unknown";
}

/** What the errors of one GPU come to. */
export interface XidHistory {
  /** The most drastic action that an error asks for which nothing later has overruled. */
  readonly action: XidAction;
  /** One sentence for each error that bears on it, newest first. */
  readonly reasons: readonly string[];
}

export interface XidScope {
  readonly busId: BusId;
  readonly ownKills: readonly OwnKill[];
  /** When the GPU was last reset, in microseconds since boot, if that is known. */
  readonly lastReset: number | undefined;
}

const DRASTIC_FIRST = ["reboot", "drain", "reset", "unknown", "none"] as const;

/** Judges the errors of one GPU, in the order of the log. Those before its last reset are history, as are our own doings. */
export function judgeXids(events: readonly XidEvent[], scope: XidScope): XidHistory {
  const own = events.filter((event) =>
    sameDevice(event.busId, scope.busId) && !isBefore(event, scope.lastReset) &&
    !isOurDoing(event, scope.ownKills)
  );
  // The driver's own word counts from where it stands; what came before it is in it.
  const word = own.findLastIndex(({ xid }) => xid === 154);
  const standing = own.slice(Math.max(0, word)).filter((event) => classifyXid(event).class !== "preemption");
  const actions = new Set(standing.map((event) => classifyXid(event).action));
  const speaking = standing.filter((event) => classifyXid(event).action !== "none" || event.xid === 154);
  return {
    action: DRASTIC_FIRST.find((action) => actions.has(action)) ?? "none",
    reasons: [...describeEvents(speaking.toReversed()), ...describeSpread(standing)],
  };
}

/** The log names a device without its function. */
function sameDevice(a: BusId, b: BusId): boolean {
  return a.slice(0, -2) === b.slice(0, -2);
}

function isBefore({ microsecondsSinceBoot: at }: XidEvent, moment: number | undefined): boolean {
  return moment !== undefined && at.ok && at.value < moment;
}

function isOurDoing({ xid, pid, microsecondsSinceBoot: at }: XidEvent, kills: readonly OwnKill[]): boolean {
  if (!AFTER_A_KILL.includes(xid) || !pid.ok) return false;
  return kills.some(({ pid: ended, microsecondsSinceBoot: since }) =>
    ended === pid.value &&
    (since === undefined || !at.ok || Math.abs(at.value - since) <= KILL_WINDOW_US)
  );
}

/** One sentence for each number, however often it stands in the log. */
function describeEvents(newestFirst: readonly XidEvent[]): string[] {
  return [...new Set(newestFirst.map(({ xid }) => xid))].map((xid) => {
    const all = newestFirst.filter((event) => event.xid === xid);
    const [newest] = all;
    if (newest === undefined) return "";
    const times = all.length === 1 ? "" : `${all.length} times, last `;
    const said = newest.text === "" ? "" : `: ${newest.text}`;
    return `Xid ${xid} ${times}${momentOf(newest)} (${classifyXid(newest).meaning})${said}`;
  });
}

function momentOf({ microsecondsSinceBoot: at }: XidEvent): string {
  const moment = valueOf(at);
  return moment === undefined
    ? "in the kernel log"
    : `${formatDuration(milliseconds(Math.max(0, moment / 1000)))} after boot`;
}

/** Illegal accesses of several programs on one GPU are rarely the fault of each. */
function describeSpread(events: readonly XidEvent[]): string[] {
  const pids = new Set(
    events.filter(({ xid }) => xid === 13 || xid === 31).flatMap(({ pid }) => valueOf(pid) ?? []),
  );
  return pids.size < 3
    ? []
    : [`Xid 13 or 31 for ${pids.size} processes: so many at once may come of the hardware; have it tested`];
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => first + place);
}
