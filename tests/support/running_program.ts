/** Starts real programs for tests and leaves none of them behind. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { temporaryFolder } from "./temporary.ts";
import { until } from "./until.ts";

export interface StartOptions {
  /** Added to an environment that else has only PATH, a HOME of its own, TZ and LC_ALL. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program's own empty home unless given. */
  readonly cwd?: string;
  /** What it finds on standard input, which then ends. Without it, input ends at once; `"open"` leaves it to `type`. */
  readonly input?: string | { readonly isOpen: true };
  /** In a session of its own, as setsid(1) makes one. */
  readonly hasOwnSession?: boolean;
}

/** How a program ended, and all that it wrote. */
export interface Ended {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a test sends. */
export type RunningSignal =
  | ("SIGTERM" | "SIGKILL" | "SIGINT" | "SIGHUP" | "SIGQUIT")
  | ("SIGSTOP" | "SIGCONT" | "SIGALRM");

/** A program at work. Disposing of it ends it with every process that it started, wherever that went. */
export interface RunningProgram extends AsyncDisposable {
  readonly pid: number;
  /** What it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  readonly ended: Promise<Ended>;
  send(signal: RunningSignal): void;
  /** Writes to its standard input, which must be open. */
  type(text: string): void;
  endInput(): void;
  /** Waits until its standard output has a match and gives it. @throws {Error} if it ends without one. */
  untilOutput(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Marks the environment of what a test started, so that escaped children are found too. Not `GPUCTL_`: those are options. */
const MARK = "TEST_PROCESS_MARK";
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Starts a program in a scrubbed environment. @throws {Error} if it cannot be started. */
export function startProgram(
  command: readonly [string, ...string[]],
  options: StartOptions = {},
): RunningProgram {
  const home = temporaryFolder();
  const mark = randomUUID();
  const [program, ...args] = command;
  const child = spawn(program, args, {
    cwd: options.cwd ?? home.path,
    env: { PATH, HOME: home.path, TZ: "UTC", LC_ALL: "C", ...options.env, [MARK]: mark },
    stdio: ["pipe", "pipe", "pipe"],
    detached: options.hasOwnSession ?? false,
  });
  const written = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => written.stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => written.stderr += text);
  // A program may end without reading its input; how it ended is what the test looks at.
  child.stdin.on("error", () => {});
  if (typeof options.input !== "object") child.stdin.end(options.input ?? "");

  const { promise: ended, resolve, reject } = Promise.withResolvers<Ended>();
  let isOver = false;
  child.once("error", reject);
  child.once("close", (status, signal) => {
    isOver = true;
    resolve({ status, signal, ...written });
  });
  // Whoever never asks how it ended has no use for the error either.
  ended.catch(() => {});

  const pid = child.pid;
  if (pid === undefined) throw new Error(`Cannot start ${program}: is it there?`);
  return {
    pid,
    ended,
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
    // Not child.kill(): Deno takes a program that it has signalled for ended by that signal, whatever its status is.
    send(signal) {
      if (!isOver) process.kill(pid, signal);
    },
    type: (text) => void child.stdin.write(text),
    endInput: () => void child.stdin.end(),
    untilOutput(pattern) {
      return until(`${command.join(" ")} to write ${pattern}`, () => {
        const found = pattern.exec(written.stdout);
        if (!found && isOver) {
          throw new Error(`${command.join(" ")} ended early\n${written.stdout}${written.stderr}`);
        }
        return found;
      });
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await until(`what ${command.join(" ")} started to end`, () => !killMarked(mark));
      child.stdout.destroy();
      child.stderr.destroy();
      home[Symbol.dispose]();
    },
  };
}

/** Runs a program to its end and leaves nothing of it behind. @throws {Error} if it does not end within the limit. */
export async function runProgram(
  command: readonly [string, ...string[]],
  { within = 30_000, ...options }: StartOptions & { readonly within?: number } = {},
): Promise<Ended> {
  await using program = startProgram(command, options);
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    limit.reject(
      new Error(`${command.join(" ")} did not end within ${within} ms\n${program.stdout}${program.stderr}`),
    );
  }, within);
  try {
    return await Promise.race([program.ended, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Kills every process whose environment has the mark, and says whether there was one. */
function killMarked(mark: string): boolean {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const marked = pids.filter((pid) => threadsOf(pid).some((thread) => hasMark(thread, mark)));
  for (const pid of marked) killIfThere(Number(pid));
  return marked.length > 0;
}

/** A leader that is dead while its threads live shows no environment; the threads do. */
function threadsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  } catch {
    return []; // It has ended since.
  }
}

function hasMark(thread: string, mark: string): boolean {
  try {
    return readFileSync(`${thread}/environ`, "latin1").includes(`${MARK}=${mark}`);
  } catch {
    return false; // Gone, or somebody else's: not one of ours either way.
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended since, which is what was wanted.
  }
}
