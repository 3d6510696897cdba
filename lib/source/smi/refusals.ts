/** The sentences with which nvidia-smi says that it has no answer, and what each means. */
import type { Why } from "../../core/reading.ts";
import { excerpt, findAbsence, findBusId } from "./values.ts";

export const REFUSAL_IDS = [
  "no-devices",
  "driver-not-loaded",
  "library-mismatch",
  "tool-mismatch",
  "library-missing",
  "access-blocked",
  "no-permission",
  "nvml-unknown-error",
  "nvml-failed",
  "gpu-unreachable",
  "inforom-corrupt",
  "unknown-field",
  "bad-arguments",
  "not-installed",
] as const;
export type RefusalId = typeof REFUSAL_IDS[number];

/** One refusal, recognised. */
export interface Refusal {
  readonly id: RefusalId;
  readonly why: Why;
  /** Its own first line. */
  readonly text: string;
  /** What it means, one sentence. */
  readonly meaning: string;
  /** One thing to try. */
  readonly hint: string;
  /** Whether the same output goes on with what could be read. */
  readonly isPartial: boolean;
  /** The GPU it speaks of: its index or PCI address as printed. */
  readonly gpu?: { readonly index?: string; readonly busId?: string };
  /** The field of an unknown field. */
  readonly field?: string;
}

type Rule = Pick<Refusal, "id" | "why" | "meaning" | "hint"> & { readonly pattern: RegExp };

/** Tried in this order; the wording is that of drivers 352 to 610. */
const RULES: readonly Rule[] = [
  {
    id: "no-devices",
    pattern: /^No devices were found/,
    why: "not-reported",
    meaning: "The driver answers and has no GPU to show",
    hint:
      "See the kernel log for `fallen off the bus` and `RmInitAdapter failed`; in a container, see which devices it was given",
  },
  {
    id: "library-mismatch",
    pattern: /^Failed to initialize NVML: Driver\/library version mismatch/,
    why: "failed",
    meaning:
      "The driver's library was updated while the older kernel module is still loaded; jobs that run go on",
    hint: "Reboot, or reload the nvidia modules once no job uses a GPU",
  },
  {
    id: "tool-mismatch",
    pattern: /^Mismatch in versions between nvidia-smi and NVML/,
    why: "failed",
    meaning: "nvidia-smi and the driver's library are of different versions",
    hint: "Install the nvidia-smi of the same driver package as the library",
  },
  {
    id: "driver-not-loaded",
    pattern: /^NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver/,
    why: "failed",
    meaning: "The kernel module is not loaded",
    hint:
      "Load it with `modprobe nvidia`; after a kernel update it may have to be built again (`dkms status`)",
  },
  {
    id: "driver-not-loaded",
    pattern: /^Failed to initialize NVML: Driver Not Loaded/,
    why: "failed",
    meaning: "The kernel module is not loaded",
    hint:
      "Load it with `modprobe nvidia`; after a kernel update it may have to be built again (`dkms status`)",
  },
  {
    id: "library-missing",
    pattern:
      /^NVIDIA-SMI couldn't find libnvidia-ml\.so library|^Failed to initialize NVML: Shared Library Not Found/,
    why: "failed",
    meaning: "The driver's library is not where nvidia-smi looks for it",
    hint: "Install the driver's library package; in a container, start it with the NVIDIA runtime",
  },
  {
    id: "access-blocked",
    pattern: /^Failed to initialize NVML: GPU access blocked by the operating system/,
    why: "no-permission",
    meaning: "The operating system keeps the GPU from this system: usual in WSL and virtual machines",
    hint: "Update the Windows driver and run `wsl --update`, or give the virtual machine its GPU again",
  },
  {
    id: "no-permission",
    pattern: /^Failed to initialize NVML: Insufficient Permissions|^Insufficient Permissions/,
    why: "no-permission",
    meaning: "This user may not open the driver's devices",
    hint: "See the owner and mode of /dev/nvidiactl",
  },
  {
    id: "nvml-unknown-error",
    pattern: /^Failed to initialize NVML: Unknown Error/,
    why: "failed",
    meaning:
      "The driver's devices cannot be opened; in a container this comes of a daemon-reload on the host",
    hint:
      "In a container: start it again. On the host: see the permissions of /dev/nvidiactl and the kernel log",
  },
  {
    id: "nvml-failed",
    pattern: /^Failed to initialize NVML: /,
    why: "failed",
    meaning: "The driver's library could not start",
    hint: "See the kernel log for messages of NVRM",
  },
  {
    id: "gpu-unreachable",
    pattern: /^Unable to determine the device handle for (?:gpu|GPU)/,
    why: "failed",
    meaning: "The driver counts a GPU that it can no longer open",
    hint: "See the kernel log for its Xid; a reset or a reboot is what brings it back",
  },
  {
    id: "inforom-corrupt",
    pattern: /^WARNING: infoROM is corrupted at gpu /,
    why: "failed",
    meaning: "The infoROM of a GPU is corrupt: what it says of errors in the past may be wrong",
    hint: "Memory and process lists are not affected; have the board looked at",
  },
  {
    id: "unknown-field",
    pattern: /^Field "[^"]{1,80}" is not a valid field to query\./,
    why: "not-supported",
    meaning: "This version of nvidia-smi does not know a field, and gives none of the others either",
    hint: "See `nvidia-smi --help-query-gpu` for the fields that it knows",
  },
  {
    id: "bad-arguments",
    pattern: /^Invalid combination of input arguments|^ERROR: Option .{1,80} is not recognized/,
    why: "not-supported",
    meaning: "This version of nvidia-smi does not know an option",
    hint: "See `nvidia-smi -h`",
  },
  {
    id: "not-installed",
    pattern:
      /^(?:\S{1,40}: )?(?:(?:line )?\d+: )?(?:command not found: nvidia-smi|nvidia-smi: (?:command )?not found)/,
    why: "failed",
    meaning: "nvidia-smi was not found",
    hint: "Install the driver, or see whether its directory is on the PATH",
  },
];
const PARTIAL: ReadonlySet<RefusalId> = new Set(["gpu-unreachable", "inforom-corrupt"]);
/** `GPU1: 0000:34:00.0: Unknown Error`, `GPU0000:08:00.0: GPU is lost.`, `GPU 0000:05:00.0: …`, `gpu 0000:05:00.0`. */
const NAMED_GPU =
  /\bgpu ?(?:(\d{1,5})(?=: |$))?(?:(?:: )?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]))?(?:: ([^.]{1,80}))?/i;

/** The refusal that a line is, if it is one. */
export function findRefusal(line: string): Refusal | undefined {
  const text = line.trim();
  const rule = RULES.find(({ pattern }) => pattern.test(text));
  if (!rule) return undefined;
  const { pattern: _, ...known } = rule;
  const base = { ...known, text: excerpt(text), isPartial: PARTIAL.has(rule.id) };
  if (rule.id === "unknown-field") return { ...base, field: text.split('"')[1] ?? "" };
  return base.isPartial ? { ...base, ...readNamedGpu(text, rule.why) } : base;
}

function readNamedGpu(text: string, otherwise: Why): Pick<Refusal, "why" | "gpu"> {
  const [, index, address = "", state = ""] = NAMED_GPU.exec(text) ?? [];
  const busId = findBusId(address);
  const gpu = { ...(index === undefined ? {} : { index }), ...(busId === undefined ? {} : { busId }) };
  return { why: (state === "" ? undefined : findAbsence(state)?.why) ?? otherwise, gpu };
}
