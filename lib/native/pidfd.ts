/** Processes held by a descriptor (pidfd_open(2)): as long as it is open, no other process can be meant. */
import type { Libc } from "./libc.ts";

/** poll.h */
const POLL = { IN: 0x1, ERR: 0x8, HUP: 0x10 } as const;

export interface PidfdCalls {
  /** A descriptor for whichever process has this pid now; `undefined` if none has it, or if the kernel refuses. */
  open(pid: number): number | undefined;
  /** Whether every thread of the process has ended. A dead main thread alone does not count. */
  hasEnded(pidfd: number): boolean;
  /** Sends a signal to exactly this process; false if the kernel refuses. */
  send(pidfd: number, signal: number): boolean;
  /** A copy of one of its descriptors (pidfd_getfd(2)), or the error number as a negative one. */
  copyDescriptor(pidfd: number, descriptor: number): number;
  /** Whether a descriptor is the writing end of a pipe that has no reader left (POLLERR of poll(2)). */
  isBrokenPipe(descriptor: number): boolean;
  close(descriptor: number): void;
}

/** Looks these calls up. The kernel has them since Linux 5.3, C libraries since much later. */
export function bindPidfd(libc: Libc): PidfdCalls {
  const open = libc.bindSyscall("pidfd_open", { args: ["i32", "u32"], returns: "i32" });
  const send = libc.bindSyscall("pidfd_send_signal", { args: ["i32", "i32", "ptr", "u32"], returns: "i32" });
  const copy = libc.bindSyscall("pidfd_getfd", { args: ["i32", "i32", "u32"], returns: "i32" });
  const poll = libc.bind("poll", { args: ["ptr", "u64", "i32"], returns: "i32" });
  const close = libc.bind("close", { args: ["i32"], returns: "i32" });
  const whatHolds = (descriptor: number, events: number): number => {
    // struct pollfd: the descriptor, what to look for, what was found. POLLERR and POLLHUP are always looked for.
    const entry = new DataView(new ArrayBuffer(8));
    entry.setInt32(0, descriptor, true);
    entry.setInt16(4, events, true);
    poll(new Uint8Array(entry.buffer), 1, 0);
    return entry.getInt16(6, true);
  };
  return {
    open(pid) {
      const pidfd = open(pid, 0);
      return pidfd < 0 ? undefined : pidfd;
    },
    hasEnded: (pidfd) => (whatHolds(pidfd, POLL.IN) & (POLL.IN | POLL.HUP)) !== 0,
    send: (pidfd, signal) => send(pidfd, signal, null, 0) === 0,
    copyDescriptor(pidfd, descriptor) {
      const copied = copy(pidfd, descriptor, 0);
      return copied < 0 ? -libc.errno() : copied;
    },
    isBrokenPipe: (descriptor) => (whatHolds(descriptor, 0) & POLL.ERR) !== 0,
    close: (descriptor) => void close(descriptor),
  };
}
