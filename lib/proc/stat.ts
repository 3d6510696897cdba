import { readFileSync } from "node:fs";
import { isPid, pid } from "../core/ids.ts";
import { clockTicks } from "../core/units.ts";
import { PROCESS_STATES, type ProcStat } from "../model/process.ts";
import { isDenied, isGone } from "./files.ts";

/** Numbers of the fields as proc_pid_stat(5) counts them, from 1. */
const FIELD = {
  state: 3,
  parentPid: 4,
  processGroup: 5,
  session: 6,
  terminal: 7,
  flags: 9,
  userTime: 14,
  systemTime: 15,
  threads: 20,
  startTime: 22,
} as const;
/** linux/sched.h */
const PF_EXITING = 0x4;
const PF_KTHREAD = 0x20_0000;

/**
 * Parses the text of /proc/PID/stat.
 *
 * `comm` is the one field that may hold spaces, parentheses and newlines, so what comes after it is counted from the last
 * `)`.
 *
 * @throws {SyntaxError} if the text is not such a line.
 */
export function parseProcStat(text: string): ProcStat {
  const open = text.indexOf(" (");
  const close = text.lastIndexOf(") ");
  const id = Number(text.slice(0, open));
  if (open < 1 || close < open || !isPid(id)) throw refusal(text);
  const fields = text.slice(close + 2).trimEnd().split(" ");
  const number = (name: keyof typeof FIELD): number => {
    const field = fields[FIELD[name] - FIELD.state] ?? "";
    const value = Number(field);
    if (!/^-?\d+$/.test(field) || !Number.isSafeInteger(value)) throw refusal(text);
    return value;
  };
  const count = (name: keyof typeof FIELD): number => {
    const value = number(name);
    if (value < 0) throw refusal(text);
    return value;
  };
  const state = PROCESS_STATES.find((letter) => letter === fields[0]);
  if (state === undefined) throw refusal(text);
  const flags = count("flags");
  return {
    pid: pid(id),
    startTicks: clockTicks(count("startTime")),
    comm: text.slice(open + 2, close),
    state,
    parentPid: count("parentPid"),
    processGroup: number("processGroup"),
    session: number("session"),
    terminal: number("terminal"),
    threads: count("threads"),
    cpuTicks: clockTicks(count("userTime") + count("systemTime")),
    isKernelThread: (flags & PF_KTHREAD) !== 0,
    isExiting: (flags & PF_EXITING) !== 0,
  };
}

/**
 * Reads /proc/PID/stat, or that of one thread; `undefined` once no process has that pid.
 *
 * @throws the system's error where a mount option (hidepid) keeps even this from the reader
 */
export function findStat(directory: string): ProcStat | undefined {
  try {
    return parseProcStat(readFileSync(`${directory}/stat`, "utf8"));
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Reads /proc/PID/stat; `undefined` also where a mount option keeps the process from this reader. */
export function findVisibleStat(directory: string): ProcStat | undefined {
  try {
    return findStat(directory);
  } catch (error) {
    if (isDenied(error)) return undefined;
    throw error;
  }
}

function refusal(text: string): SyntaxError {
  return new SyntaxError(
    `Cannot parse "${text}": expected a pid, a name in parentheses, a state and numbers`,
  );
}
