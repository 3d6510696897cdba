import { join } from "node:path";
import { runGpuctl, startGpuctl } from "./binary.ts";
import type { Ended, RunningProgram, StartOptions } from "./running_program.ts";
import { temporaryFolder } from "./temporary.ts";

export interface HoldOptions {
  readonly gpu?: number;
  readonly bytes?: string;
  /** A scene of `gpuctl sim hold`. */
  readonly scene?: string;
  /** The longest that it may last if the test dies. */
  readonly for?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A job on a simulated server. */
export interface Hold extends RunningProgram {
  /** The process that it named when its scene stood. */
  readonly readyPid: number;
}

/** A simulated server. Disposing of it removes it with the jobs that `hold` started. */
export interface SimulatedServer extends AsyncDisposable {
  readonly folder: string;
  /** Selects it as the source. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs gpuctl on it. */
  run(args: readonly string[], options?: StartOptions & { readonly within?: number }): Promise<Ended>;
  /** Starts gpuctl on it. */
  start(args: readonly string[], options?: StartOptions): RunningProgram;
  /** Starts a job on it and waits until its scene stands. */
  hold(options?: HoldOptions): Promise<Hold>;
}

/** Makes a simulated server. `faults` is the text of its fault file. @throws {Error} if gpuctl cannot. */
export async function startSim(
  { gpus = 8, memory = "80GiB", faults }: {
    readonly gpus?: number;
    readonly memory?: string;
    readonly faults?: string;
  } = {},
): Promise<SimulatedServer> {
  const home = temporaryFolder();
  const folder = join(home.path, "server");
  const faultArguments = faults === undefined ? [] : ["--faults", home.write("faults", faults)];
  const made = await runGpuctl([
    "sim",
    "init",
    folder,
    "--gpus",
    String(gpus),
    "--memory",
    memory,
    ...faultArguments,
  ]);
  if (made.status !== 0) throw new Error(`Cannot make a simulated server: ${made.stderr}`);

  const env = { GPUCTL_SOURCE: `sim:${folder}` };
  const withSource = <T extends StartOptions>(options: T) => ({
    ...options,
    env: { ...env, ...options.env },
  });
  const holds: Hold[] = [];
  return {
    folder,
    env,
    run: (args, options = {}) => runGpuctl(args, withSource(options)),
    start: (args, options = {}) => startGpuctl(args, withSource(options)),
    async hold({ gpu = 0, bytes = "2GiB", scene = "plain", for: span = "60s", env: own = {} } = {}) {
      const words = ["sim", "hold", "--gpu", String(gpu), "--bytes", bytes, "--scene", scene, "--for", span];
      const program = startGpuctl(words, { env: { ...env, ...own } });
      try {
        const [, readyPid] = await program.untilOutput(/^ready (\d+)$/m);
        const hold = Object.assign(program, { readyPid: Number(readyPid) });
        holds.push(hold);
        return hold;
      } catch (error) {
        await program[Symbol.asyncDispose]();
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(holds.map((hold) => hold[Symbol.asyncDispose]()));
      home[Symbol.dispose]();
    },
  };
}
