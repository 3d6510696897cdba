/** Whether a job stayed on the GPUs it was given, and why not. */
import type { GpuIndex, GpuUuid, Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import type { Bytes, Milliseconds } from "../core/units.ts";
import type { RanJob } from "./diff.ts";
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
 * - `container`: the container has the GPU, given or not, or its own numbering was taken for the host's
 * - `default-device`: a rank other than 0 has touched the first GPU, as CUDA does unless told otherwise
 * - `collective`: a rank has a context on another rank's GPU, as NCCL and peer access may need one
 * - `set-too-late`: the program sets the variable after CUDA has started
 * - `variable-missing`: CUDA_VISIBLE_DEVICES was not set when the process started
 * - `value-ignored`: the value is too long, so CUDA showed every GPU
 * - `index-order`: numbers name other GPUs than nvidia-smi's, as the models differ
 * - `list-cut-short`: the list ended before the GPU that was meant
 * - `variable-names-it`: the variable names this GPU
 * - `changed-inside`: the program itself has set the variable, in time for CUDA
 * - `intruder`: somebody else's process has a context on a GPU that the job was to have for itself
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
  "intruder",
] as const;
/** One of them. */
export type StrayCause = typeof STRAY_CAUSES[number];

/** Whose a process is: for a violation that is not the job's own, and for one of a whole machine. */
export type ViolatingParty = Pick<Process, "user" | "owner">;

/** A rule of a file, for those who look it up there. */
export interface RulePlace {
  readonly line: number;
  /** Whom it is for and what they may use, in words: `user alice may use GPU 0, 1`. */
  readonly text: string;
}

/** A rule with what became of it. */
export interface JudgedRule extends RulePlace {
  readonly verdict: IsolationVerdictKind;
  /** The processes with a context that it is for. */
  readonly pids: readonly Pid[];
}

/** A context on a GPU where it has no business. */
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
  /** Whose the process is, where that says more than "the job's". */
  readonly party?: ViolatingParty;
  /** The rule that it breaks, where a file of rules was judged by. */
  readonly rule?: RulePlace;
}

/** Whose a GPU is: `partly` the job's where only some MIG devices of it are. */
export const ALLOWANCES = ["wholly", "partly", "not"] as const;

/** What is to be known of one GPU. */
export interface IsolatedGpu {
  readonly uuid: GpuUuid;
  readonly index: GpuIndex;
  readonly name: Reading<string>;
  readonly allowed: typeof ALLOWANCES[number];
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
  /** The command that was run for it; absent for what ran already. */
  readonly job?: RanJob;
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
  /** Every rule of the file, and its default at the end, where a whole machine was judged. */
  readonly rules?: readonly JudgedRule[];
}
