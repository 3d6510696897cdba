/** Whether a job stayed on the GPUs it was given, and why not. */
import type { GpuIndex, GpuUuid, Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import type { Bytes, Milliseconds } from "../core/units.ts";
import type { DeviceUse } from "./observation.ts";
import type { Process } from "./process.ts";
import type { Problem } from "./snapshot.ts";

/** A GPU that the job may use, or one MIG device on it. */
export interface AllowedDevice {
  readonly gpu: GpuUuid;
  readonly mig?: GpuUuid;
}

/** One process of the job, with what /proc said of it while it lived. */
export interface IsolatedProcess {
  readonly process: Pick<Process, "pid" | "comm" | "argv" | "environment" | "owner">;
  /** What it had of the device nodes, at most at any time; absent where that could not be read. */
  readonly uses: Reading<readonly DeviceUse[]>;
}

/** Worst first. */
export const ISOLATION_VERDICTS = ["violated", "unproven", "isolated"] as const;
/** One of them. */
export type IsolationVerdictKind = typeof ISOLATION_VERDICTS[number];

/**
 * Why a context stands where it should not:
 *
 * - `mps`: the process is a client of an MPS server, and that decides what it sees
 * - `environment-unknown`: whether CUDA_VISIBLE_DEVICES was set could not be read; that is not the same as unset
 * - `container`: the container was given the GPU, or its own numbering was taken for the host's
 * - `default-device`: a rank other than 0 has touched the first GPU, as CUDA does unless told otherwise
 * - `collective`: a rank has a context on another rank's GPU, as NCCL and peer access may need one
 * - `set-too-late`: the program sets the variable after CUDA has started
 * - `variable-missing`: CUDA_VISIBLE_DEVICES was not set when the process started
 * - `value-ignored`: the value is too long, so CUDA showed every GPU
 * - `index-order`: numbers name other GPUs than nvidia-smi's, as the models differ
 * - `list-cut-short`: the list ended before the GPU that was meant
 * - `variable-names-it`: the variable names this GPU
 * - `changed-inside`: at its start the process was not shown this GPU; its program changed that
 */
export const STRAY_CAUSES = [
  "mps",
  "environment-unknown",
  "container",
  "default-device",
  "collective",
  "set-too-late",
  "variable-missing",
  "value-ignored",
  "index-order",
  "list-cut-short",
  "variable-names-it",
  "changed-inside",
] as const;
/** One of them. */
export type StrayCause = typeof STRAY_CAUSES[number];

/** A context of the job on a GPU where it has no business. */
export interface IsolationViolation {
  readonly gpu: GpuUuid;
  readonly index: GpuIndex;
  readonly pid: Pid;
  /** The program's name. */
  readonly command: string;
  /** The most that the context had in any look. */
  readonly contextBytes: Bytes;
  readonly cause: StrayCause;
  /** What was seen that makes this the cause, in one or two sentences. */
  readonly explanation: string;
  readonly fix: string;
}

/** What is to be known of one GPU. */
export interface IsolatedGpu {
  readonly uuid: GpuUuid;
  readonly index: GpuIndex;
  readonly name: Reading<string>;
  /** `partly` where only some MIG devices of it are the job's. */
  readonly allowed: "wholly" | "partly" | "not";
  readonly verdict: IsolationVerdictKind;
  /** How much more memory was in use at most than before the job, by whomever; absent where either was not seen. */
  readonly growth: Reading<Bytes>;
}

/** Memory that came up where the driver names no process: no proof, and no pass. */
export interface IsolationSuspicion {
  readonly gpu: GpuUuid;
  readonly index: GpuIndex;
  readonly growthBytes: Bytes;
  readonly message: string;
}

/** The verdict on a job. `isolated` only if every GPU was seen in every look, and nothing else was in doubt. */
export interface IsolationVerdict {
  readonly verdict: IsolationVerdictKind;
  readonly threshold: Bytes;
  /** Looks that were taken, and the longest time between two: what lived shorter may not have been seen. */
  readonly looks: number;
  readonly longestGap: Milliseconds;
  readonly gpus: readonly IsolatedGpu[];
  readonly violations: readonly IsolationViolation[];
  readonly suspicions: readonly IsolationSuspicion[];
  /** Good to know, and no breach. */
  readonly notes: readonly string[];
  /** What could not be seen; each one alone keeps the verdict from `isolated`. */
  readonly problems: readonly Problem[];
}
