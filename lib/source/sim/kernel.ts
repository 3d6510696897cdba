/** The system calls of a scene. */
import { openLibc } from "../../native/libc.ts";
import { bindOwnProcess, type OwnProcessCalls } from "../../native/own_process.ts";
import { bindMemoryLocks, type MemoryLocks } from "./locks.ts";

/** What a process of a scene asks of the kernel beside what `node:` modules can do. */
export interface Kernel {
  readonly locks: MemoryLocks;
  readonly own: Pick<OwnProcessCalls, "mapFile" | "endWithParent" | "exitThread">;
  /** Closes an inherited descriptor: Deno's `node:fs` closes only what it has opened itself. */
  close(descriptor: number): void;
}

/** Opens it for as long as this process lives. */
export async function openKernel(): Promise<Kernel> {
  const libc = await openLibc();
  const close = libc.bind("close", { args: ["i32"], returns: "i32" });
  return {
    locks: bindMemoryLocks(libc),
    own: bindOwnProcess(libc),
    close(descriptor) {
      if (close(descriptor) === 0) return;
      throw new Error(`Cannot close descriptor ${descriptor}: close(2) failed with errno ${libc.errno()}`);
    },
  };
}
