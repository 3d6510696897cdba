/** Why a context of the job stands on a GPU where it has no business, from what is known of its process. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { formatAbsent } from "../core/reading.ts";
import { printable, truncate } from "../core/text.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { AllowedDevice, IsolatedProcess, StrayCause } from "../model/isolation.ts";
import type { Environment } from "../model/process.ts";
import { findLocalRank } from "./isolation_ranks.ts";
import type { WatchedContext } from "./isolation_tally.ts";
import { type Finding, formatPlace } from "./lint/finding.ts";
import { parseNvidiaVisibleDevices } from "./nvidia_visible_devices.ts";
import { parseVisibleDevices, type VisibleDevices } from "./visible_devices.ts";

/** A context that is out of place. */
export interface Stray {
  readonly gpu: Gpu;
  readonly context: WatchedContext;
  /** What /proc said of its process, if it was seen alive. */
  readonly process: IsolatedProcess | undefined;
  /** Whether the process has a larger context on another GPU, and so works there. */
  readonly worksElsewhere: boolean;
}

/** What a cause is judged against. */
export interface CauseSetting {
  readonly machine: Pick<DriverReport, "gpus" | "unreadableGpus">;
  readonly allowed: readonly AllowedDevice[];
  /** GPUs on which some process of the job works, by that process. */
  readonly mainGpus: ReadonlyMap<Pid, GpuUuid>;
  /** What reading the program's source has found. */
  readonly lint: readonly Finding[];
}

/** A cause with the sentences that go with it. */
export interface Explained {
  readonly cause: StrayCause;
  readonly explanation: string;
  readonly fix: string;
}

/** The most likely cause, and what to do about it. Says that it does not know rather than guess. */
export function explainStray(stray: Stray, setting: CauseSetting): Explained {
  const { process, context } = stray;
  const start = `Start the job with CUDA_VISIBLE_DEVICES=${uuidsOf(setting.allowed)}`;
  if (context.kind === "mps-client") {
    return {
      cause: "mps",
      explanation: "The process is a client of an MPS server; what it sees is what that server was given",
      fix: `Start the MPS control daemon with CUDA_VISIBLE_DEVICES=${
        uuidsOf(setting.allowed)
      }, or the job without MPS`,
    };
  }
  const environment = process?.process.environment;
  if (environment === undefined || !environment.ok) {
    return { cause: "environment-unknown", explanation: whyUnknown(environment), fix: start };
  }
  const variables = environment.value;
  const value = variables.get("CUDA_VISIBLE_DEVICES");
  const visible = parseVisibleDevices(value, {
    ...setting.machine,
    deviceOrder: variables.get("CUDA_DEVICE_ORDER"),
  });
  return findRankCause(stray, { setting, variables, visible }) ??
    (value === undefined
      ? explainUnset(stray, { setting, variables, start })
      : explainSet(stray, { setting, value, visible, start }));
}

interface Context {
  readonly setting: CauseSetting;
  readonly variables: Environment;
  readonly visible: VisibleDevices;
}

/** A rank that works elsewhere and has a small context on the first GPU, or on that of another rank. */
function findRankCause(stray: Stray, { setting, variables, visible }: Context): Explained | undefined {
  const rank = findLocalRank(variables);
  const isShown = visible.devices.some(({ gpu }) => gpu === stray.gpu.uuid);
  if (rank === undefined || rank === 0 || !stray.worksElsewhere || !isShown) return undefined;
  if (visible.devices[0]?.gpu === stray.gpu.uuid) {
    return {
      cause: "default-device",
      explanation:
        `Local rank ${rank} works on another GPU and has a context on the first one too: something in it ` +
        "used CUDA's default device before its own was chosen",
      fix:
        "Call torch.cuda.set_device(local_rank) before anything else of CUDA, load checkpoints with map_location, " +
        "and give init_process_group its device_id; or give each rank its own CUDA_VISIBLE_DEVICES",
    };
  }
  const owner = [...setting.mainGpus].find(([pid, gpu]) =>
    gpu === stray.gpu.uuid && pid !== stray.context.pid
  );
  if (owner === undefined) return undefined;
  return {
    cause: "collective",
    explanation:
      `Local rank ${rank} works on another GPU and has a context on that of PID ${
        owner[0]
      }, as NCCL and peer ` +
      "access may need one where ranks see each other's GPUs",
    fix: "Give each rank its own CUDA_VISIBLE_DEVICES, or init_process_group its device_id",
  };
}

function explainUnset(
  { gpu, process }: Stray,
  { setting, variables, start }: {
    readonly setting: CauseSetting;
    readonly variables: Environment;
    readonly start: string;
  },
): Explained {
  const container = process?.process.owner.ok ? process.process.owner.value.container : undefined;
  const given = variables.get("NVIDIA_VISIBLE_DEVICES");
  const request = parseNvidiaVisibleDevices(given, setting.machine);
  if (container && request.kind === "devices" && request.devices.some((device) => device.gpu === gpu.uuid)) {
    return {
      cause: "container",
      explanation: `The container was given this GPU: NVIDIA_VISIBLE_DEVICES=${show(given ?? "")}`,
      fix: `Give it only the job's GPUs: docker run --gpus '"device=${uuidsOf(setting.allowed)}"'`,
    };
  }
  const late = findLate(setting.lint);
  if (late) {
    return {
      cause: "set-too-late",
      explanation:
        `CUDA_VISIBLE_DEVICES was not set when the process started, and ${formatPlace(late.place)} sets it ` +
        "too late for CUDA",
      fix: `${start}, or: ${late.fix}`,
    };
  }
  return {
    cause: "variable-missing",
    explanation:
      "CUDA_VISIBLE_DEVICES was not set when the process started, so CUDA showed it every GPU. If the program " +
      "sets it by itself, it does so too late",
    fix: `${start}; gpuctl verify-isolation --lint finds where a program sets it too late`,
  };
}

function explainSet(
  { gpu, process }: Stray,
  { setting, value, visible, start }: {
    readonly setting: CauseSetting;
    readonly value: string;
    readonly visible: VisibleDevices;
    readonly start: string;
  },
): Explained {
  const set = `CUDA_VISIBLE_DEVICES=${show(value)}`;
  if (visible.end === "too-long") {
    return {
      cause: "value-ignored",
      explanation: "CUDA_VISIBLE_DEVICES is longer than CUDA reads, so CUDA ignored it and showed every GPU",
      fix: start,
    };
  }
  const isByNumber = visible.entries.some(({ entry }) => entry.kind === "number");
  const owner = process?.process.owner;
  if (isByNumber && owner?.ok && owner.value.container) {
    return {
      cause: "container",
      explanation: `${set} counts the GPUs of the container, which need not be those of the host`,
      fix: `${start}: UUIDs mean the same everywhere`,
    };
  }
  if (visible.doubts.includes("mixed-models") || visible.doubts.includes("models-unread")) {
    return {
      cause: "index-order",
      explanation:
        `${set} names GPUs by number, and CUDA_DEVICE_ORDER is not PCI_BUS_ID: with other models beside each ` +
        "other CUDA counts from the fastest, nvidia-smi from the lowest bus address",
      fix: `${start}, or set CUDA_DEVICE_ORDER=PCI_BUS_ID too`,
    };
  }
  if (visible.devices.some((device) => device.gpu === gpu.uuid)) {
    const isMeantGone = !visible.devices.some((device) =>
      setting.allowed.some((each) => each.gpu === device.gpu)
    );
    const last = visible.entries.at(-1);
    if (visible.end !== "complete" && isMeantGone && last) {
      return {
        cause: "list-cut-short",
        explanation: `CUDA reads ${set} only up to ${
          show(last.entry.text)
        }, and so never came to the GPU that was meant`,
        fix: start,
      };
    }
    return {
      cause: "variable-names-it",
      explanation: `${set} names this GPU, which is not one that the job was given`,
      fix: start,
    };
  }
  const late = setting.lint.find(({ rule }) => rule.startsWith("set-"));
  return {
    cause: "changed-inside",
    explanation:
      `When the process started ${set} did not show this GPU; its program has set the variable anew` +
      (late ? ` (${formatPlace(late.place)})` : "") + " before CUDA started",
    fix: "Take the assignment out of the program, and leave the variable to whoever starts it",
  };
}

function findLate(lint: readonly Finding[]): Finding | undefined {
  return lint.find(({ rule }) => rule === "set-after-cuda") ??
    lint.find(({ rule }) => rule === "set-after-import");
}

function whyUnknown(environment: IsolatedProcess["process"]["environment"] | undefined): string {
  if (environment === undefined || environment.ok) {
    return "The process was gone before its environment could be read, so whether CUDA_VISIBLE_DEVICES was set is unknown";
  }
  if (environment.why === "erased") {
    return "The process has overwritten its environment, as setproctitle does, so whether CUDA_VISIBLE_DEVICES was set is unknown";
  }
  return `The environment of the process could not be read, so whether CUDA_VISIBLE_DEVICES was set is unknown: ${
    formatAbsent(environment)
  }`;
}

/** The allowed devices as CUDA_VISIBLE_DEVICES takes them. */
function uuidsOf(allowed: readonly AllowedDevice[]): string {
  return allowed.map(({ gpu, mig }) => mig ?? gpu).join(",");
}

function show(text: string): string {
  return `"${printable(truncate(text, 60))}"`;
}
