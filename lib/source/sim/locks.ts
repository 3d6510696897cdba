/** Who holds a simulated GPU's memory, asked of the kernel by the locks of its files. */
import type { Libc } from "../../native/libc.ts";

/** asm-generic/fcntl.h: locks of an open file description, F_OFD_GETLK and F_OFD_SETLK of fcntl(2). */
const F_OFD = { GETLK: 36, SETLK: 37 } as const;
const LOCK_TYPE = { read: 0, write: 1, none: 2 } as const;
/** struct flock of 64-bit Linux: s16 l_type, s16 l_whence, 4 of padding, s64 l_start, s64 l_len, s32 l_pid, 4 of padding. */
const FLOCK = { size: 32, type: 0, start: 8, length: 16 } as const;

export interface MemoryLocks {
  /**
   * Takes a shared lock on one byte of an open file, which need not exist. The lock belongs to the open file
   * description: it is inherited with it and lasts until its last descriptor, in whatever process, is closed.
   *
   * @throws {Error} if the file system has no locks.
   */
  hold(descriptor: number, place: number): void;
  /** Says whether anybody holds that byte. Needs no right over whoever does, and no view of it in /proc. */
  isHeld(descriptor: number, place: number): boolean;
}

/** Looks fcntl(2) up. */
export function bindMemoryLocks(libc: Libc): MemoryLocks {
  const fcntl = libc.bind("fcntl", { args: ["i32", "i32", "ptr"], returns: "i32" });
  const call = (descriptor: number, command: number, lock: DataView) => {
    if (fcntl(descriptor, command, new Uint8Array(lock.buffer)) === 0) return;
    throw new Error(`Cannot lock simulated memory: fcntl(2) failed with errno ${libc.errno()}`);
  };
  return {
    hold: (descriptor, place) => call(descriptor, F_OFD.SETLK, encodeLock(LOCK_TYPE.read, place)),
    isHeld(descriptor, place) {
      const lock = encodeLock(LOCK_TYPE.write, place);
      call(descriptor, F_OFD.GETLK, lock);
      return lock.getInt16(FLOCK.type, true) !== LOCK_TYPE.none;
    },
  };
}

function encodeLock(type: number, place: number): DataView {
  const lock = new DataView(new ArrayBuffer(FLOCK.size));
  lock.setInt16(FLOCK.type, type, true);
  lock.setBigInt64(FLOCK.start, BigInt(place), true);
  lock.setBigInt64(FLOCK.length, 1n, true);
  return lock;
}
