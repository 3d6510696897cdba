/** What a process does to itself and to its children: prctl(2), waitpid(2), and a way to end one thread. */
import { cString, type Libc } from "./libc.ts";

/** linux/prctl.h */
const PR = { SET_PDEATHSIG: 1, SET_NAME: 15, SET_CHILD_SUBREAPER: 36 } as const;
const WNOHANG = 1;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;

/** How a child ended, as wait(2) has it: by itself with a status, or by a signal. */
export type WaitStatus = { readonly status: number } | { readonly signal: number };

export interface OwnProcessCalls {
  /** Orphaned descendants become this process's children from now on (PR_SET_CHILD_SUBREAPER). */
  adoptOrphans(): void;
  /** This process gets the signal when the thread that started it ends (PR_SET_PDEATHSIG). */
  endWithParent(signal: number): void;
  /** Gives the calling thread its short name, of which the kernel keeps 15 bytes (PR_SET_NAME). */
  nameThread(name: string): void;
  /** Takes a child off the process table if it has ended; `undefined` if it has not, or is no child. Never waits. */
  reap(pid: number): WaitStatus | undefined;
  /** Ends the calling thread alone. The process lives on as long as another thread does. */
  exitThread(): void;
  /** Maps the file's first `length` bytes until the process ends. @throws {Error} if the kernel refuses. */
  mapFile(descriptor: number, length: number): void;
}

/** Looks these calls up. */
export function bindOwnProcess(libc: Libc): OwnProcessCalls {
  const prctl = libc.bind("prctl", { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" });
  const prctlText = libc.bind("prctl", { args: ["i32", "ptr", "u64", "u64", "u64"], returns: "i32" });
  const waitpid = libc.bind("waitpid", { args: ["i32", "ptr", "i32"], returns: "i32" });
  const exitThread = libc.bindSyscall("exit", { args: ["i32"], returns: "i32" });
  // An address is never -1 and its last 12 bits are 0, so the lower half tells a failure.
  const mmap = libc.bind("mmap", { args: ["u64", "u64", "i32", "i32", "i32", "u64"], returns: "i32" });
  const must = (what: string, answer: number) => {
    if (answer !== 0) throw new Error(`Cannot ${what}: prctl(2) failed with errno ${libc.errno()}`);
  };
  return {
    adoptOrphans: () => must("adopt orphans", prctl(PR.SET_CHILD_SUBREAPER, 1, 0, 0, 0)),
    endWithParent: (signal) => must("end with the parent", prctl(PR.SET_PDEATHSIG, signal, 0, 0, 0)),
    nameThread: (name) => must("name the thread", prctlText(PR.SET_NAME, cString(name), 0, 0, 0)),
    reap(pid) {
      const status = new Int32Array(1);
      if (waitpid(pid, new Uint8Array(status.buffer), WNOHANG) !== pid) return undefined;
      return decodeWaitStatus(status[0] ?? 0);
    },
    exitThread: () => void exitThread(0),
    mapFile(descriptor, length) {
      if (mmap(0, length, PROT_READ_WRITE, MAP_SHARED, descriptor, 0) === -1) {
        throw new Error(`Cannot map descriptor ${descriptor}: mmap(2) failed with errno ${libc.errno()}`);
      }
    },
  };
}

/** Reads a wait status as WIFEXITED, WEXITSTATUS and WTERMSIG of bits/waitstatus.h do. */
function decodeWaitStatus(status: number): WaitStatus {
  const signal = status & 0x7f;
  return signal === 0 ? { status: (status >> 8) & 0xff } : { signal };
}
