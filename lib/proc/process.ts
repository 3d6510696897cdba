/** Everything about one process that bears on who it belongs to. */
import type { Pid } from "../core/ids.ts";
import { absent, mapReading, type Reading } from "../core/reading.ts";
import type { Process, ProcStat } from "../model/process.ts";
import { readOwner } from "./cgroup.ts";
import type { DeviceRecogniser } from "./devices.ts";
import { readLink } from "./files.ts";
import type { NodeMappings } from "./maps.ts";
import { type ProcessMemory, readMemory, readMemoryOfWaiting } from "./memory.ts";
import { readPidNamespace } from "./namespaces.ts";
import { findVisibleStat } from "./stat.ts";
import { readProcStatus } from "./status.ts";
import { readStdio, type StdioCalls } from "./stdio.ts";
import { isAlive, readThreads, readWaitChannel, type Thread } from "./threads.ts";
import type { UserNames } from "./users.ts";

export interface ProcessCalls extends StdioCalls {
  readonly users: UserNames;
}

/** A process with the device nodes that it has mapped, `not-asked` where nobody wanted to know. */
export interface ReadProcess {
  readonly process: Process;
  readonly mappings: Reading<readonly NodeMappings[]>;
}

/**
 * Reads one process; `undefined` if it is gone by the end, or is hidden from this reader.
 *
 * @param recogniser whose nodes are looked for among its mappings; without one these are not read.
 * @param late what to wait for at most if its memory is locked.
 */
export async function readProcess(
  pid: Pid,
  { calls, recogniser, late }: {
    readonly calls: ProcessCalls;
    readonly recogniser: DeviceRecogniser | undefined;
    readonly late: () => Promise<unknown>;
  },
): Promise<ReadProcess | undefined> {
  const directory = `${calls.procRoot}/${pid}`;
  const stat = findVisibleStat(directory);
  if (stat === undefined) return undefined;
  const threads = readThreads(directory, stat);
  const place = placeOf(pid, stat, threads);
  const memory = await readMemoryOf(`${calls.procRoot}/${place}`, { stat, threads, recogniser, late });
  const process = describeProcess(stat, { calls, place, threads, memory });
  // All of it is of one process only if the one that had this pid still has it.
  if (findVisibleStat(directory)?.startTicks !== stat.startTicks) return undefined;
  return { process, mappings: memory.mappings };
}

/** Where its files are: a main thread that has ended has none, and those of a live thread are the process's. */
function placeOf(pid: Pid, stat: ProcStat, threads: Reading<readonly Thread[]>): string {
  const living = !isAlive(stat) && threads.ok ? threads.value.find(isAlive) : undefined;
  return living ? `${pid}/task/${living.task}` : String(pid);
}

function readMemoryOf(
  directory: string,
  { stat, threads, recogniser, late }: {
    readonly stat: ProcStat;
    readonly threads: Reading<readonly Thread[]>;
    readonly recogniser: DeviceRecogniser | undefined;
    readonly late: () => Promise<unknown>;
  },
): ProcessMemory | Promise<ProcessMemory> {
  if (threads.ok && !threads.value.some(isAlive)) {
    const ended = absent("exited");
    return { argv: ended, environment: ended, mappings: ended };
  }
  const isWaiting = stat.state === "D" || !threads.ok || threads.value.some(({ state }) => state === "D");
  return isWaiting ? readMemoryOfWaiting(directory, recogniser, late()) : readMemory(directory, recogniser);
}

function describeProcess(
  stat: ProcStat,
  { calls, place, threads, memory }: {
    readonly calls: ProcessCalls;
    readonly place: string;
    readonly threads: Reading<readonly Thread[]>;
    readonly memory: ProcessMemory;
  },
): Process {
  const directory = `${calls.procRoot}/${place}`;
  // A thread's own file gives the thread's id in its namespaces.
  const status = readProcStatus(`${calls.procRoot}/${stat.pid}`);
  return {
    ...stat,
    uid: mapReading(status, ({ uid }) => uid),
    user: status.ok ? calls.users(status.value.uid) : status,
    argv: memory.argv,
    executable: stat.isKernelThread
      ? absent("not-supported", "a kernel thread runs no file")
      : readLink(`${directory}/exe`),
    owner: readOwner(directory),
    environment: memory.environment,
    namespacePids: status.ok ? status.value.namespacePids : status,
    pidNamespace: readPidNamespace(directory),
    ignoresHangup: mapReading(status, ({ ignoresHangup }) => ignoresHangup),
    stdio: readStdio(place, calls),
    threadStates: mapReading(threads, (list) => list.map(({ state }) => state)),
    waitsIn: threads.ok ? readWaitChannel(`${calls.procRoot}/${stat.pid}`, threads.value) : threads,
  };
}
