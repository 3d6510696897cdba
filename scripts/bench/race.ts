import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../toolchain.ts";

/** A command in a race. */
export interface Contestant {
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** The exit statuses of a run that did its work; 0 unless given. */
  readonly statuses?: readonly number[];
}

/** One run of a command. */
export interface Run {
  readonly wallMs: number;
  /** Of the program and the children that it waited for. */
  readonly cpuMs: number;
  readonly peakKiB: number;
}

/** All runs of one contestant. */
export interface Result {
  readonly name: string;
  readonly runs: readonly Run[];
}

/** How often, and in which environment. */
export interface RaceOptions {
  readonly rounds: number;
  readonly warmups: number;
  readonly env: Readonly<Record<string, string>>;
}

/** Builds one of our C programs below `dist/bench` and gives its path. @throws {Error} with the compiler's words */
export function compileC(source: string): string {
  const folder = join(ROOT, "dist/bench");
  mkdirSync(folder, { recursive: true });
  const program = join(folder, source.slice(source.lastIndexOf("/") + 1).replace(/\.c$/, ""));
  const { status, stderr, error } = spawnSync("cc", ["-O2", "-o", program, join(ROOT, source), "-ldl"], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Cannot compile ${source}: ${error?.message ?? stderr}`);
  return program;
}

/**
 * Runs the contestants in turn, round after round, so that what else the machine does falls on all alike.
 *
 * @throws {Error} if a run ends with a status that is not among the expected: a program that failed early is no winner.
 */
export function race(contestants: readonly Contestant[], { rounds, warmups, env }: RaceOptions): Result[] {
  const words = contestants.flatMap(({ command }) => [String(command.length), ...command]);
  const { status, stdout, stderr } = spawnSync(
    compileC("scripts/bench/stopwatch.c"),
    [String(rounds), String(warmups), ...words],
    { encoding: "utf8", env },
  );
  if (status !== 0) throw new Error(`Cannot run the race: ${stderr}`);

  const runs = stdout.trimEnd().split("\n").map((line) => {
    const [index = NaN, wallNs = NaN, cpuUs = NaN, peakKiB = NaN, code = NaN] = line.split(" ").map(Number);
    return { index, code, run: { wallMs: wallNs / 1e6, cpuMs: cpuUs / 1e3, peakKiB } };
  });
  return contestants.map(({ name, statuses = [0] }, at) => {
    const own = runs.filter(({ index }) => index === at);
    const odd = own.find(({ code }) => !statuses.includes(code));
    if (odd) throw new Error(`Cannot time ${name}: it ended with status ${odd.code}`);
    return { name, runs: own.map(({ run }) => run) };
  });
}

/** The middle value; of an even number of them the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? NaN) + upper) / 2;
}
