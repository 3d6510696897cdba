/** A simulated server with jobs on it, and what /proc and its driver show of them. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { contextsOf, type DriverReport } from "../../../../lib/model/gpu.ts";
import type { ServerPlan } from "../../../../lib/model/simulation.ts";
import { openSimDriver } from "../../../../lib/source/sim/driver.ts";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { type RunningProgram, startProgram } from "../../../support/running_program.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { until } from "../../../support/until.ts";
import { SIM_PROGRAM } from "./program_path.ts";

const MEBIBYTE = 1024 ** 2;

export interface Job extends RunningProgram {
  /** The process that it named as the holder. */
  readonly ready: number;
  /** All that it named, in the order in which it named them. */
  readonly holders: readonly number[];
  readonly dead: number | undefined;
}

/** How often a process has each node of the server open, and how many lines of its maps name it. */
export interface Picture {
  readonly state: string;
  readonly parentPid: number;
  readonly open: Readonly<Record<string, number>>;
  readonly mapped: Readonly<Record<string, number>>;
}

export interface Machine extends AsyncDisposable {
  readonly directory: string;
  /** Starts `sim hold` and waits until its scene stands. */
  hold(
    args: readonly string[],
    variables?: Readonly<Record<string, string>>,
    /** A program that starts the job, such as unshare(1), with its arguments. */
    starter?: readonly string[],
  ): Promise<Job>;
  read(): Promise<DriverReport>;
  /** MiB used on each GPU, with what each listed pid has there. */
  memory(): Promise<Usage[]>;
  /** Waits until no GPU has memory in use. */
  untilFree(): Promise<unknown>;
  picture(pid: number): Picture;
}

/** MiB used on a GPU, and MiB by pid. */
export type Usage = readonly [used: number, rows: Readonly<Record<number, number>>];

/** Makes a server that lasts as long as its block, with all jobs on it. */
export function startMachine(plan: ServerPlan = {}, faults?: string): Machine {
  const home = temporaryFolder();
  const directory = join(home.path, "server");
  const faultsPath = faults === undefined ? {} : { faultsPath: home.write("faults.toml", faults) };
  initSimServer(directory, { ...plan, ...faultsPath });
  const jobs: RunningProgram[] = [];
  const machine: Machine = {
    directory,
    async hold(args, variables = {}, starter = []) {
      const hold = [...SIM_PROGRAM, "sim", "hold", "--sim", directory, "--for", "60s", ...args];
      const [first = "", ...rest] = [...starter, ...hold];
      const program = startProgram([first, ...rest], { env: { ...runtimeVariables(), ...variables } });
      jobs.push(program);
      const [, ready] = await program.untilOutput(/^ready (\d+)\n/m);
      const dead = /^dead (\d+)$/m.exec(program.stdout)?.[1];
      const holders = Array.from(program.stdout.matchAll(/^holder (\d+)$/gm), ([, pid]) => Number(pid));
      return Object.assign(program, {
        ready: Number(ready),
        holders,
        dead: dead === undefined ? undefined : Number(dead),
      });
    },
    async read() {
      using driver = await openSimDriver(directory);
      return driver.read({ withUtilization: false });
    },
    memory: async () => usageOf(await machine.read()),
    untilFree: () =>
      until("memory to be given back", async () => (await machine.memory()).every(([used]) => used === 0)),
    picture: (pid) => readPicture(pid, directory),
    async [Symbol.asyncDispose]() {
      for (const job of jobs) await job[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
  return machine;
}

/** What a report says of the memory of each GPU. */
export function usageOf({ gpus }: DriverReport): Usage[] {
  return gpus.map(({ memoryUsed, processList }) => [
    memoryUsed.ok ? memoryUsed.value / MEBIBYTE : NaN,
    Object.fromEntries(
      contextsOf(processList).map(({ pid, used }) => [pid, used.ok ? used.value / MEBIBYTE : NaN]),
    ),
  ]);
}

/** Deno keeps its cache below the home, and these programs have another one. */
export function runtimeVariables(): Record<string, string> {
  if (!("Deno" in globalThis)) return {};
  return {
    DENO_DIR: process.env["DENO_DIR"] ?? join(homedir(), ".cache", "deno"),
    DENO_NO_UPDATE_CHECK: "1",
  };
}

function readPicture(pid: number, directory: string): Picture {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [state = "", parentPid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const nodes = join(directory, "dev");
  // The threads share what is open and mapped; of a dead leader only the others still show it.
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  const open = threads.map((thread) => count(openFiles(thread), nodes));
  const mapped = threads.map((thread) => count(mappedFiles(thread), nodes));
  // Who sleeps may be met awake.
  const settled = state === "R" ? "S" : state;
  return { state: settled, parentPid: Number(parentPid), open: fullest(open), mapped: fullest(mapped) };
}

function openFiles(thread: string): string[] {
  if (!existsSync(`${thread}/fd`)) return [];
  return readdirSync(`${thread}/fd`).flatMap((entry) => {
    try {
      return [readlinkSync(`${thread}/fd/${entry}`)];
    } catch {
      return []; // Closed since: nothing that the process holds for good.
    }
  });
}

function mappedFiles(thread: string): string[] {
  return readFileSync(`${thread}/maps`, "utf8").split("\n").map((line) => line.slice(line.indexOf("/")));
}

function count(paths: readonly string[], folder: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const path of paths.filter((path) => dirname(path) === folder).sort()) {
    counts[basename(path)] = (counts[basename(path)] ?? 0) + 1;
  }
  return counts;
}

function fullest(counts: readonly Record<string, number>[]): Record<string, number> {
  return counts.reduce((most, next) => Object.keys(next).length > Object.keys(most).length ? next : most, {});
}
