/**
 * The driver's error lines in the kernel log, `NVRM: Xid (PCI:0000:07:00): 38, pid=326, name=python, …`. The name is
 * another process's own choice, commas and all: nothing that it holds may pass for a word of the driver's.
 */
import { isPid, parseBusId, type Pid, pid } from "../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../core/reading.ts";
import type { XidEvent } from "../model/reset_facts.ts";

/** The address comes without its function, and on a divided GPU with the instance that the error is of. */
const XID = /^NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]{5,20})(?: GPU-C?I:\d+)*\): (\d{1,6})(?:, (.*))?$/s;
const SWITCH_ERROR = /^nvidia-nvswitch\d+: SXid \(/;
/** Since driver 450 or so; in quotes where no process is known. */
const PID = /^pid='?(\d+|<unknown>)'?(?:, |$)/;
const NAME = "name=";
/** TASK_COMM_LEN of linux/sched.h is 16, the NUL at its end included. */
const LONGEST_NAME = 15;
const NOBODY = absent("not-reported", "the driver names no process");

/**
 * Reads an Xid out of one message of the kernel log, escaped as /dev/kmsg escapes; `undefined` for any other message.
 *
 * @param microsecondsSinceBoot when it was logged
 */
export function findXid(message: string, microsecondsSinceBoot: Reading<number>): XidEvent | undefined {
  const [, address, xid, rest = ""] = XID.exec(message) ?? [];
  const busId = address === undefined ? undefined : findBusId(address);
  if (busId === undefined) return undefined;
  return { busId, xid: Number(xid), microsecondsSinceBoot, ...parseRest(toByteText(rest)) };
}

/** The message of an NVSwitch's error (`SXid`) as it was before it was escaped; `undefined` for any other message. */
export function findSwitchError(message: string): string | undefined {
  return SWITCH_ERROR.test(message) ? toText(toByteText(message)) : undefined;
}

function findBusId(address: string) {
  try {
    return parseBusId(address);
  } catch {
    return undefined; // Then it is a line of another sort.
  }
}

function parseRest(rest: string): Pick<XidEvent, "pid" | "name" | "text"> {
  const [matched = "", number] = PID.exec(rest) ?? [];
  const behind = rest.slice(matched.length);
  if (number === undefined || !behind.startsWith(NAME)) {
    return { pid: readPid(number), name: NOBODY, text: toText(behind) };
  }
  return { pid: readPid(number), ...splitName(behind.slice(NAME.length)) };
}

function readPid(number: string | undefined): Reading<Pid> {
  const value = Number(number);
  return isPid(value) ? known(pid(value)) : NOBODY;
}

/**
 * Parts the name from what follows. Where a comma may be the name's own, nobody can tell where it ends: then no name is
 * known, and of the rest only what cannot belong to it is the driver's.
 */
function splitName(rest: string): { readonly name: Reading<string>; readonly text: string } {
  const ends = [...rest.matchAll(/, /g)].map(({ index }) => index).filter((end) => end <= LONGEST_NAME);
  const last = ends.at(-1);
  if (last === undefined) return { name: UNCLEAR, text: toText(rest) };
  return {
    name: ends.length > 1 ? UNCLEAR : nameOf(rest.slice(0, last)),
    text: toText(rest.slice(last + 2)),
  };
}

const UNCLEAR: Absent = absent("implausible", "where the name ends cannot be told");

function nameOf(bytes: string): Reading<string> {
  return bytes === "<unknown>" || bytes === "" ? NOBODY : known(toText(bytes));
}

/** A character for each byte, the kernel's escapes undone: `\x2c` for every byte that is no plain ASCII, and for `\`. */
function toByteText(escaped: string): string {
  const bytes = Array.from(new TextEncoder().encode(escaped), (byte) => String.fromCharCode(byte)).join("");
  return bytes.replace(/\\x([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

function toText(bytes: string): string {
  return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}
