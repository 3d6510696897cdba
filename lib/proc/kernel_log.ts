/** The kernel's log, read from /dev/kmsg record by record, for what the driver and NVSwitches wrote into it. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { errnoOf, messageOf } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import type { KernelLog, XidEvent } from "../model/reset_facts.ts";
import { makeDevice } from "./devices.ts";
import { isDenied, isGone } from "./files.ts";
import { findSwitchError, findXid } from "./xid.ts";

/** Records as /dev/kmsg gives them, from the oldest that is left. */
export interface KernelRecords {
  /** The next record; `lost` where some were overwritten before they were read; `undefined` once all were read. */
  next(): string | "lost" | undefined;
}

/** Documentation/ABI/testing/dev-kmsg: `prefix,sequence,microseconds,flags[,more];message`, then lines with a blank. */
const RECORD = /^(\d{1,10}),(\d{1,20}),(\d{1,16}),[^;\n]*;(.*)/;
/** The prefix holds the facility above three bits of priority; 0 is the kernel's. Other writers have others. */
const PRIORITIES = 8;
/** More than the largest ring holds: a log that is written to as fast as it is read must not keep us for ever. */
const MOST_RECORDS = 1_000_000;
/** CONSOLE_EXT_LOG_MAX of linux/printk.h, the longest record, is half of it. */
const RECORD_BYTES = 16_384;

/** Reads what the kernel still knows of the driver's errors since boot. */
export function readKernelLog(path = "/dev/kmsg"): Reading<KernelLog> {
  const opened = openKernelRecords(path);
  if (!opened.ok) return opened;
  using records = opened.value;
  return attemptRead(path, () => collectKernelLog(records));
}

/** Opens the log at the oldest record that is left. It stays open, and gives later what was logged since. */
export function openKernelRecords(path = "/dev/kmsg"): Reading<KernelRecords & Disposable> {
  return flatten(attemptRead(path, () => {
    // Without O_NONBLOCK the end of the log is a wait for the next record.
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { rdev } = fstatSync(descriptor);
    // Some container runtimes put a terminal or nothing at all there.
    if (rdev === makeDevice(1, 11)) return known(openRecords(descriptor));
    closeSync(descriptor);
    return absent("hidden", `${path} is not the kernel's log here`);
  }));
}

function flatten<T>(reading: Reading<Reading<T>>): Reading<T> {
  return reading.ok ? reading.value : reading;
}

/** What comes of reading the log, or why nothing does. */
export function attemptRead<T>(path: string, read: () => T): Reading<T> {
  try {
    return known(read());
  } catch (error) {
    if (isDenied(error)) {
      return absent("no-permission", `${path} is for root alone (kernel.dmesg_restrict): run it with sudo`);
    }
    if (isGone(error)) return absent("hidden", `there is no ${path} here: a container has none`);
    return absent("failed", messageOf(error));
  }
}

/** Picks the driver's errors out of the records. */
export function collectKernelLog(records: KernelRecords): KernelLog {
  const xids: XidEvent[] = [];
  const switchErrors: string[] = [];
  let isWhole = false;
  for (let count = 0;; count++) {
    const record = records.next();
    if (record === undefined) return { xids, switchErrors, isWhole };
    if (count === MOST_RECORDS) return { xids, switchErrors, isWhole: false };
    if (record === "lost") {
      isWhole = false;
      continue;
    }
    const [, prefix, sequence, microseconds, message = ""] = RECORD.exec(record) ?? [];
    if (count === 0) isWhole = Number(sequence) === 0;
    // What a program writes to /dev/kmsg never has the kernel's own facility.
    if (Number(prefix) < PRIORITIES) sort(message, Number(microseconds));
  }

  function sort(message: string, microseconds: number): void {
    const xid = findXid(message, known(microseconds));
    if (xid !== undefined) return void xids.push(xid);
    const switchError = findSwitchError(message);
    if (switchError !== undefined) switchErrors.push(switchError);
  }
}

function openRecords(descriptor: number): KernelRecords & Disposable {
  const buffer = new Uint8Array(RECORD_BYTES);
  const decoder = new TextDecoder();
  return {
    next() {
      try {
        const length = readSync(descriptor, buffer);
        return length === 0 ? undefined : decoder.decode(buffer.subarray(0, length));
      } catch (error) {
        const errno = errnoOf(error);
        if (errno === "EAGAIN") return undefined;
        if (errno === "EPIPE") return "lost";
        throw error;
      }
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}
