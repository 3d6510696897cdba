import { mapReading, type Reading } from "../core/reading.ts";
import { readLink } from "./files.ts";

/** The machine's first PID namespace: PROC_PID_INIT_INO of linux/proc_ns.h, 0xEFFFFFFC, the same on every boot. */
const INITIAL_PID_NAMESPACE = "pid:[4026531836]";

/** Reads a process's PID namespace as the kernel names it. */
export function readPidNamespace(directory: string): Reading<string> {
  return readLink(`${directory}/ns/pid`);
}

/** Says whether a namespace is the one in which every process of the machine has a pid. `first` is for a machine of another sort. */
export function judgeInitialPidNamespace(
  name: Reading<string>,
  first: string = INITIAL_PID_NAMESPACE,
): Reading<boolean> {
  return mapReading(name, (value) => value === first);
}
