/** How alerts name whom they are about. */
import type { Pid } from "../../core/ids.ts";
import { quoteArguments, truncate } from "../../core/text.ts";
import type { Gpu } from "../../model/gpu.ts";
import type { Holder } from "../../model/snapshot.ts";
import type { WatchedGpu, WatchedProcess } from "../../model/watch.ts";

/** What a command may take of a sentence. */
const COMMAND_WIDTH = 60;
/** Arguments may be megabytes long: what is told of them must fit into an environment variable. */
const LONGEST_COMMAND = 2000;

/** A GPU as an alert names it. */
export function watchedGpu({ index, uuid }: Pick<Gpu, "index" | "uuid">): WatchedGpu {
  return { index, uuid };
}

/** A process as an alert names it. */
export function watchedProcess(pid: Pid, holder: Pick<Holder, "argv" | "name"> | undefined): WatchedProcess {
  if (holder === undefined) return { pid, command: undefined };
  const { argv, name } = holder;
  if (!argv.ok || argv.value.length === 0) return { pid, command: `[${name}]` };
  const words = argv.value.slice(0, LONGEST_COMMAND).map((word) => word.slice(0, LONGEST_COMMAND));
  return { pid, command: truncate(quoteArguments(words), LONGEST_COMMAND) };
}

/** Names a process in a sentence: `PID 812 (python train.py)`. */
export function nameProcess({ pid, command }: WatchedProcess): string {
  return command === undefined ? `PID ${pid}` : `PID ${pid} (${truncate(command, COMMAND_WIDTH)})`;
}
