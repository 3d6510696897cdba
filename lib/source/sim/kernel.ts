/** The system calls that the scenes of a simulated server need and no runtime offers. */
import { existsSync } from "node:fs";
import { arch } from "node:process";
import type { Milliseconds } from "../../core/units.ts";
import { type CType, type NativeFunction, type NativeLibrary, openLibrary } from "../../native/dlopen.ts";

/** Where libc lies: never a bare name, which one runtime would also look for in the current directory. */
const LIBC_PATHS = [
  "/lib/x86_64-linux-gnu/libc.so.6",
  "/lib/aarch64-linux-gnu/libc.so.6",
  "/lib64/libc.so.6",
  "/usr/lib/libc.so.6",
];

/** System call numbers (asm/unistd_64.h, asm-generic/unistd.h). */
const CALL_NUMBERS = {
  x64: { exit: 60, timerCreate: 222, timerSettime: 223 },
  arm64: { exit: 93, timerCreate: 107, timerSettime: 110 },
} as const;

/** fcntl(2) and fcntl.h of 64-bit Linux: open file description locks. */
const F_OFD_GETLK = 36;
const F_OFD_SETLK = 37;
const F_RDLCK = 0;
const F_WRLCK = 1;
const F_UNLCK = 2;
/** struct flock: s16 l_type, s16 l_whence, 4 bytes of padding, s64 l_start, s64 l_len, s32 l_pid, 4 of padding. */
const FLOCK = { size: 32, type: 0, start: 8, length: 16 } as const;

const PAGE = 4096;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;
const CLOCK_MONOTONIC = 1;
/** struct sigevent: 8 bytes of sigval, s32 sigev_signo, s32 sigev_notify (SIGEV_SIGNAL is 0), padding to 64. */
const SIGEVENT = { size: 64, signal: 8 } as const;
/** struct itimerspec: s64 seconds and nanoseconds of the interval, then of the first expiry. */
const ITIMERSPEC = { size: 32, seconds: 16, nanoseconds: 24 } as const;

/** The kernel as a scene needs it. */
export interface Kernel extends Disposable {
  /**
   * Puts a shared lock on one byte of an open file. The lock belongs to the open file description: it is inherited with
   * it and lasts until its last descriptor, in whatever process, is closed.
   */
  hold(descriptor: number, place: number): void;
  /** Says whether anybody holds that byte. Needs no right over whoever does, and no view of it in /proc. */
  isHeld(descriptor: number, place: number): boolean;
  /** Maps the first page of an open file, for good. */
  map(descriptor: number): void;
  close(descriptor: number): void;
  /** Kills this process after a while, be it stopped or its main thread dead. */
  killAfter(span: Milliseconds): void;
  /** Kills this process when the one that started it ends. */
  dieWithParent(): void;
  /** Ends the calling thread alone. */
  exitThread(): void;
}

/**
 * Opens the C library.
 *
 * @throws {Error} if it is in none of the usual places.
 */
export async function openKernel(): Promise<Kernel> {
  const path = LIBC_PATHS.find(existsSync);
  if (path === undefined) {
    throw new Error(`Cannot find the C library: it is none of ${LIBC_PATHS.join(", ")}`);
  }
  return bindKernel(await openLibrary(path, "getpid", { args: [], returns: "i32" }));
}

function bindKernel(libc: NativeLibrary): Kernel {
  const numbers = arch === "arm64" ? CALL_NUMBERS.arm64 : CALL_NUMBERS.x64;
  const fcntl = lazily(libc, "fcntl", ["i32", "i32", "ptr"]);
  const mmap = lazily(libc, "mmap", ["u64", "u64", "i32", "i32", "i32", "u64"]);
  const close = lazily(libc, "close", ["i32"]);
  const prctl = lazily(libc, "prctl", ["i32", "u64", "u64", "u64", "u64"]);
  const timerCreate = lazily(libc, "syscall", ["u64", "i32", "ptr", "ptr"]);
  const timerSettime = lazily(libc, "syscall", ["u64", "i32", "i32", "ptr", "ptr"]);
  const exit = lazily(libc, "syscall", ["u64", "i32"]);
  return {
    hold(descriptor, place) {
      check("lock an allocation", fcntl(descriptor, F_OFD_SETLK, encodeLock(F_RDLCK, place)));
    },
    isHeld(descriptor, place) {
      const lock = encodeLock(F_WRLCK, place);
      check("test the lock of an allocation", fcntl(descriptor, F_OFD_GETLK, lock));
      return new DataView(lock.buffer).getInt16(FLOCK.type, true) !== F_UNLCK;
    },
    map(descriptor) {
      // The address comes back cut to 32 bits. It is a multiple of the page size, so that only MAP_FAILED is -1.
      check("map a device node", mmap(0, PAGE, PROT_READ_WRITE, MAP_SHARED, descriptor, 0));
    },
    close: (descriptor) => check("close a descriptor", close(descriptor)),
    killAfter(span) {
      const event = new DataView(new ArrayBuffer(SIGEVENT.size));
      event.setInt32(SIGEVENT.signal, SIGKILL, true);
      const timer = new DataView(new ArrayBuffer(4));
      check(
        "make a timer",
        timerCreate(numbers.timerCreate, CLOCK_MONOTONIC, bytesOf(event), bytesOf(timer)),
      );
      const setting = new DataView(new ArrayBuffer(ITIMERSPEC.size));
      setting.setBigInt64(ITIMERSPEC.seconds, BigInt(Math.floor(span / 1000)), true);
      // A timer set to 0 would never go off.
      setting.setBigInt64(ITIMERSPEC.nanoseconds, BigInt(Math.floor(span % 1000 * 1e6)) || 1n, true);
      check(
        "set a timer",
        timerSettime(numbers.timerSettime, timer.getInt32(0, true), 0, bytesOf(setting), null),
      );
    },
    dieWithParent: () => check("follow the parent", prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)),
    exitThread: () => void exit(numbers.exit, 0),
    [Symbol.dispose]: () => libc[Symbol.dispose](),
  };
}

/** A lock on one byte. A place beyond the end of the file is as good as any. */
function encodeLock(type: number, place: number): Uint8Array {
  const lock = new DataView(new ArrayBuffer(FLOCK.size));
  lock.setInt16(FLOCK.type, type, true);
  lock.setBigInt64(FLOCK.start, BigInt(place), true);
  lock.setBigInt64(FLOCK.length, 1n, true);
  return bytesOf(lock);
}

function bytesOf({ buffer }: DataView): Uint8Array {
  return new Uint8Array(buffer);
}

/** Looks a function up when it is first called: a reader needs one of them, a scene most. */
function lazily(libc: NativeLibrary, name: string, args: readonly CType[]): NativeFunction {
  let found: NativeFunction | undefined;
  return (...values) => {
    found ??= libc.find(name, { args, returns: "i32" });
    if (found === undefined) throw new Error(`Cannot call ${name}: the C library has none`);
    return found(...values);
  };
}

function check(what: string, result: number): void {
  if (result === -1) throw new Error(`Cannot ${what}: the kernel refuses`);
}
