import type { Libc } from "./libc.ts";

/** sys/file.h */
const LOCK_EX = 2;
const LOCK_NB = 4;

/** Takes the lock of an open file without waiting (flock(2)); false while another process has it. It ends with the file. */
export type TakeLock = (descriptor: number) => boolean;

/** Looks flock(2) up. */
export function bindFlock(libc: Libc): TakeLock {
  const flock = libc.bind("flock", { args: ["i32", "i32"], returns: "i32" });
  return (descriptor) => flock(descriptor, LOCK_EX | LOCK_NB) === 0;
}
