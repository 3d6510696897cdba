import { spawnSync } from "node:child_process";
import { type Pid, pid } from "../../lib/core/ids.ts";
import { findStat } from "../../lib/proc/stat.ts";
import { compileCProgram } from "./c_program.ts";
import { startProgram } from "./running_program.ts";
import { temporaryFolder } from "./temporary.ts";
import { until } from "./until.ts";

/** A process that waits in state D with its memory locked, for a file system that does not answer. */
export interface HungProcess extends AsyncDisposable {
  readonly pid: Pid;
}

/** Starts one (tests/fixtures/proc/hung.c). It is let go when disposed of, and by itself after some seconds. */
export async function startHungProcess(): Promise<HungProcess> {
  await using stack = new AsyncDisposableStack();
  const program = stack.use(compileCProgram("hung"));
  const folder = stack.use(temporaryFolder());
  stack.defer(() => void spawnSync("umount", ["-l", folder.path]));
  const server = stack.use(startProgram([program.path, folder.path]));
  const [, id] = await server.untilOutput(/^ready (\d+)$/m);
  const hung = pid(Number(id));
  await until("its main thread to wait for the lock", () => findStat(`/proc/${hung}`)?.state === "D");
  const opened = stack.move();
  return { pid: hung, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
