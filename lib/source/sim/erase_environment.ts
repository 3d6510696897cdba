/** A process that writes over its own environment, as setproctitle(3) does to have room for a longer title. */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** proc_pid_stat(5): env_start and env_end, counted from the field behind the name. */
const ENV_START = 50 - 3;
const ENV_END = 51 - 3;

/**
 * Fills the environment that /proc shows of this process with NUL. Whoever wants a variable of it has read it before, and
 * starts no program afterwards: the runtime may have kept its place rather than a copy.
 */
export function eraseEnvironment(): void {
  const stat = readFileSync("/proc/self/stat", "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const start = Number(fields[ENV_START]);
  const nothing = new Uint8Array(Number(fields[ENV_END]) - start);
  const memory = openSync("/proc/self/mem", "r+");
  try {
    // Without a length Bun leaves the position out too.
    writeSync(memory, nothing, 0, nothing.length, start);
  } finally {
    closeSync(memory);
  }
}
