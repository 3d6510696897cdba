/** The kernel's log, kept open: what is logged later is read when it is there, and nothing twice. */
import { mapReading } from "../core/reading.ts";
import type { KernelLogFollower } from "../world/ports.ts";
import { attemptRead, collectKernelLog, openKernelRecords } from "./kernel_log.ts";

/** Follows the log from now on. Where it cannot be opened each reading says why. */
export function followKernelLog(path = "/dev/kmsg"): KernelLogFollower {
  const opened = openKernelRecords(path);
  if (!opened.ok) return { readNew: () => opened, [Symbol.dispose]: () => {} };
  const records = opened.value;
  const readRest = () => attemptRead(path, () => collectKernelLog(records));
  // What is there already was logged before anybody asked.
  readRest();
  return {
    readNew: () => mapReading(readRest(), ({ xids }) => xids),
    [Symbol.dispose]: () => records[Symbol.dispose](),
  };
}
