/** What a simulated GPU server and the jobs on it are asked to be. */
import type { Bytes, Milliseconds } from "../core/units.ts";

/** What a job on a simulated server does with its memory, after scenes measured on a real one. */
export const SCENES = [
  "plain",
  "monitor",
  "forked-child",
  "zombie-leader",
  "spawn-orphans",
  "dataloader-orphans",
  "ipc-importer",
  "stopped",
  "slow-release",
] as const;
export type Scene = typeof SCENES[number];

/** A simulated server as asked for. What is left out is the default for a new one, and unchanged for one that exists. */
export interface ServerPlan {
  readonly gpus?: number;
  /** Of each GPU. */
  readonly memory?: Bytes;
  readonly name?: string;
  /** Path of a TOML file with faults; without one the server has none. */
  readonly faultsPath?: string;
}

/** A job on a simulated server as asked for. */
export interface JobPlan {
  /** The server's directory. */
  readonly directory: string;
  /** GPUs as the job numbers them: places in what CUDA_VISIBLE_DEVICES leaves visible. */
  readonly gpus: readonly number[];
  /** What each holding process allocates on each of its GPUs, beside its context. */
  readonly size: Bytes;
  readonly scene: Scene;
  /** What a plain job takes more of each GPU every second. */
  readonly growth?: Bytes;
  /** How long the scene stays; until a signal without it. */
  readonly runFor?: Milliseconds;
  /** Whether the main process of a scene that leaves others behind ends with status 0; it is killed otherwise. */
  readonly endsCleanly: boolean;
  /** A launcher and this many ranks, one a GPU. */
  readonly ranks?: number;
  /** Every rank but the first also has a context on the first GPU. */
  readonly hasStrayContext: boolean;
  /** Every rank also has a context on the GPU of each other rank. */
  readonly hasPeerContexts: boolean;
  /** The job names its GPUs in CUDA_VISIBLE_DEVICES after CUDA has started: it gets the first visible ones instead. */
  readonly setsVariableLate: boolean;
  /** What the job itself sets CUDA_VISIBLE_DEVICES to, before CUDA starts: /proc shows what was set for it. */
  readonly visibleDevices?: string;
  /** The processes write over their environment, so that /proc shows nothing of it. */
  readonly erasesEnvironment: boolean;
}
