/** The ways in which nvidia-smi says no. Texts are those of the programs of drivers 390 to 595. */

/** What kept a GPU from being reset. */
export type ResetRefusal =
  | ("in-use" | "linked" | "primary-gpu" | "vgpu-mode" | "mig-pending" | "unsupported" | "reset-type")
  | ("permission" | "half-way" | "not-started" | "timed-out" | "stuck" | "signal" | "status" | "unfinished");

/** A refusal for a person: what it is, why, and the one thing to do next. */
export interface Refused {
  readonly refusal: ResetRefusal;
  readonly explanation: string;
  readonly next: string;
}

interface Pattern extends Refused {
  readonly words: RegExp;
}

const REBOOT_SOON = "reboot the machine before anybody uses the GPU; if it stays, cut the power";

/** What nvidia-smi was asked for, and how it may say no. */
export interface Question {
  /** The first that matches decides. */
  readonly patterns: readonly Pattern[];
  /** What is not known when there is no answer. */
  readonly doubt: string;
}

/** What was left half done outweighs why it was refused. */
const RESET_PATTERNS: readonly Pattern[] = [
  {
    refusal: "half-way",
    words: /did not complete reset successfully|may be in an unstable state|Error encountered during reset/i,
    explanation: "the reset failed half way, and the GPU may be in an unstable state",
    next: REBOOT_SOON,
  },
  {
    refusal: "linked",
    words: /must be reset together|reset criterion|append the following device ind/i,
    explanation: "GPUs that NVLink joins have to be reset in one command",
    next: "name the others too, once nobody uses them",
  },
  {
    refusal: "in-use",
    words:
      /In use by another client|is currently in use by (?:another|one or more other) process|currently being used by one or more other processes/i,
    explanation:
      "somebody still uses the GPU: persistence mode, a service, a monitor, or the display driver in the kernel (nvidia_drm)",
    next:
      "gpuctl reset-gpu lists who; without anybody there: modprobe -r nvidia_drm, or stop what uses nvidia_peermem or gdrdrv",
  },
  {
    refusal: "primary-gpu",
    words: /is the primary GPU/i,
    explanation: "the console is on this GPU, and that one cannot be reset",
    next: "reboot, or choose another primary GPU in the firmware's set-up",
  },
  {
    refusal: "vgpu-mode",
    words: /\bin vGPU (?:host )?mode/i,
    explanation: "the GPU serves virtual machines",
    next: "shut the virtual machines down and take it out of vGPU mode",
  },
  {
    refusal: "mig-pending",
    words: /pending MIG|MIG mode.*pending/i,
    explanation: "a change of its MIG mode is pending",
    next: "set MIG back to what it is (nvidia-smi -mig), or reboot",
  },
  {
    refusal: "reset-type",
    words: /Reset type is not supported/i,
    explanation: "this GPU does not know this kind of reset",
    next: "reboot; since driver 580 a reset of the bus may do: nvidia-smi -i <GPU> -r bus",
  },
  {
    refusal: "permission",
    words: /Insufficient Permissions/i,
    explanation: "this user may not reset a GPU",
    next: "run it as root",
  },
  {
    refusal: "unsupported",
    words: /Resetting GPU .* is not supported|GPU reset unavailable|\bNot Supported\b/i,
    explanation: "this GPU, or this machine, cannot reset it",
    next: "reboot; in a virtual machine, restart that",
  },
];

const SETTER_PATTERNS: readonly Pattern[] = [
  {
    refusal: "permission",
    words: /Insufficient Permissions/i,
    explanation: "this user may not change that",
    next: "run it as root",
  },
  {
    // "Treating as warning and moving on" follows, and the status is 0.
    refusal: "unsupported",
    words: /\bnot supported\b|has been deprecated/i,
    explanation: "this GPU or this driver has no such setting",
    next: "nothing to do: there is nothing to undo",
  },
  {
    refusal: "status",
    words: /\bUnable to\b|\bis lost\b|Unknown Error/i,
    explanation: "the setting could not be changed",
    next: "see the kernel log; gpuctl reset-gpu tells whether a reset would help",
  },
];

/** `-r`. */
export const RESET: Question = { patterns: RESET_PATTERNS, doubt: "whether the GPU was reset is not known" };
/** `-pm`, `-rgc`, `-rmc`, `-rac`. */
export const SETTER: Question = {
  patterns: SETTER_PATTERNS,
  doubt: "whether the setting was changed is not known",
};
