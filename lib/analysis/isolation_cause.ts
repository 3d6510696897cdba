/** Why a context of the job stands on a GPU where it has no business, from what is known of its process. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { formatAbsent } from "../core/reading.ts";
import { printable, truncate } from "../core/text.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { AllowedDevice, IsolatedProcess, StrayCause } from "../model/isolation.ts";
import type { Environment } from "../model/process.ts";
import { explainVisibleDevices } from "./explain_visible_devices.ts";
import { explainContainer } from "./isolation_container.ts";
import { findLocalRank } from "./isolation_ranks.ts";
import { isDeviceOf, isKeptFromSome } from "./isolation_sight.ts";
import type { WatchedContext } from "./isolation_tally.ts";
import { type Finding, formatPlace } from "./lint/finding.ts";
import { parseVisibleDevices, type VisibleDevices, type VisibleMachine } from "./visible_devices.ts";

const TAKE_OUT = "Take the assignment out of the program, and leave the variable to whoever starts it";

/** A context that is out of place. */
export interface Stray {
  readonly gpu: Gpu;
  readonly context: WatchedContext;
  /** What /proc said of its process, if it was seen alive. */
  readonly process: IsolatedProcess | undefined;
  /** Whether the process has a larger context on another GPU, and so works there. */
  readonly worksElsewhere: boolean;
  /** The GPUs on which the process has a context, this one among them. */
  readonly onGpus: readonly GpuUuid[];
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
  const seen: VisibleMachine = { ...setting.machine, deviceOrder: variables.get("CUDA_DEVICE_ORDER") };
  const visible = parseVisibleDevices(value, seen);
  return findRankCause(stray, { setting, variables, visible }) ??
    (value === undefined
      ? explainUnset(stray, { setting, variables, visible, start })
      : explainSet(stray, { setting, value, visible, seen, start }));
}

interface Context {
  readonly setting: CauseSetting;
  readonly variables: Environment;
  readonly visible: VisibleDevices;
}

/** A rank that works elsewhere and has a small context on the first GPU, or on that of another rank. */
function findRankCause(stray: Stray, { setting, variables, visible }: Context): Explained | undefined {
  const rank = findLocalRank(variables);
  const isShown = visible.devices.some((device) => isDeviceOf(device, stray));
  if (rank === undefined || !stray.worksElsewhere || !isShown) return undefined;
  const isFirst = visible.devices[0]?.gpu === stray.gpu.uuid;
  if (isFirst && rank !== 0 && !isOnEveryRanksGpu(stray, setting)) {
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

/** Whether a rank has a context wherever one of several others works: then the first GPU is no exception. */
function isOnEveryRanksGpu({ onGpus }: Stray, { mainGpus }: CauseSetting): boolean {
  const theirs = new Set(mainGpus.values());
  return theirs.size > 2 && [...theirs].every((gpu) => onGpus.includes(gpu));
}

function explainUnset(
  { gpu, process }: Stray,
  { setting, variables, visible, start }: Context & { readonly start: string },
): Explained {
  const container = process?.process.owner.ok ? process.process.owner.value.container : undefined;
  if (container) {
    return explainContainer(gpu, { ...setting, variables, devices: uuidsOf(setting.allowed) });
  }
  if (isKeptFromSome(process, gpu, { machine: setting.machine, visible })) {
    return {
      cause: "changed-inside",
      explanation:
        "CUDA_VISIBLE_DEVICES was not set when the process started, and yet some GPUs are hidden from it: its " +
        `program has set the variable${placeOfSetting(setting.lint)} before CUDA started`,
      fix: `Take the assignment out of the program. ${start}`,
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
  stray: Stray,
  { setting, value, visible, seen, start }: {
    readonly setting: CauseSetting;
    readonly value: string;
    readonly visible: VisibleDevices;
    /** The machine as the process was shown it. */
    readonly seen: VisibleMachine;
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
  const owner = stray.process?.process.owner;
  if (isByNumber && owner?.ok && owner.value.container) {
    return {
      cause: "container",
      explanation: `${set} counts the GPUs of the container, which need not be those of the host`,
      fix: `${start}: UUIDs mean the same everywhere`,
    };
  }
  const isShown = visible.devices.some((device) => isDeviceOf(device, stray));
  const what = stray.context.gpuInstance === undefined ? "GPU" : "MIG device";
  const isOrderOpen = visible.doubts.includes("mixed-models") || visible.doubts.includes("models-unread");
  if (isOrderOpen && !isShown) {
    return {
      cause: "index-order",
      explanation:
        `${set} names GPUs by number, and CUDA_DEVICE_ORDER is not PCI_BUS_ID: with other models beside each ` +
        "other CUDA counts from the fastest, nvidia-smi from the lowest bus address",
      fix: `${start}, or set CUDA_DEVICE_ORDER=PCI_BUS_ID too`,
    };
  }
  if (isShown) {
    const isMeantGone = !visible.devices.some((device) =>
      setting.allowed.some((each) => each.gpu === device.gpu && (each.mig ?? device.mig) === device.mig)
    );
    const last = visible.entries.at(-1);
    if (visible.end !== "complete" && isMeantGone && last) {
      return {
        cause: "list-cut-short",
        explanation: `CUDA reads ${set} only up to ${
          show(last.entry.text)
        }, and so never came to the GPU that was meant. ${explainVisibleDevices(visible, seen).join(". ")}`,
        fix: start,
      };
    }
    return {
      cause: "variable-names-it",
      explanation: `${set} names this ${what}, which is not one that the job was given`,
      fix: start,
    };
  }
  return {
    cause: "changed-inside",
    explanation:
      `When the process started ${set} did not show this ${what}; its program has set the variable anew` +
      `${placeOfSetting(setting.lint)} before CUDA started`,
    fix: TAKE_OUT,
  };
}

/** ` (train.py:3)`, where reading the source has found that place. */
function placeOfSetting(lint: readonly Finding[]): string {
  const found = lint.find(({ rule }) => rule.startsWith("set-"));
  return found ? ` (${formatPlace(found.place)})` : "";
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
