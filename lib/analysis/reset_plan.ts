/** The steps of a reset in their order, each that changes something with the step that puts it back. */
import type { BusId } from "../core/ids.ts";
import { parseBusId } from "../core/ids.ts";
import { isTrue } from "../core/reading.ts";
import type { ClockKind } from "../model/clock_order.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Blocker, ResetStep, ResetStepKind } from "../model/reset.ts";
import { findStanding } from "./reset_blockers.ts";
import { nameGpus, nameProcess, type ResetInput, scanOf } from "./reset_input.ts";
import { groupForReset } from "./reset_links.ts";

/**
 * Plans a reset of the chosen GPUs; without a step where anything stands in the way that the flags do not clear.
 *
 * nvidia-smi without `-i` would reset every GPU of the machine, so each of its calls names them.
 */
export function planReset(input: ResetInput, blockers: readonly Blocker[]): ResetStep[] {
  if (input.gpus.length === 0 || findStanding(blockers, input.flags).length > 0) return [];
  const units = findUnits(blockers);
  const persistent = input.gpus.filter(({ persistenceMode }) => isTrue(persistenceMode));
  return [
    ...planEvictions(input, blockers),
    ...units.map((unit) =>
      step("stop-service", `stop ${unit}`, { unit, command: ["systemctl", "stop", unit] })
    ),
    step("close-helper", describeHelpers(input)),
    ...persistent.map((gpu) => planPersistence(gpu, "off")),
    ...groupForReset(input).map(planGroup),
    ...persistent.map((gpu) => planPersistence(gpu, "on")),
    ...units.toReversed().map((unit) =>
      step("start-service", `start ${unit} again`, {
        unit,
        command: ["systemctl", "start", unit],
        isUndo: true,
      })
    ),
    step("read-again", `read ${nameGpus(input.gpus)} again: is it back, and healthy?`),
  ];
}

/** What `--clocks` and its likes undo. */
export type ClockKinds = Readonly<Record<ClockKind, boolean>>;

/** Flags of nvidia-smi(1): locked graphics clocks, locked memory clocks, applications clocks. */
const CLOCK_FLAGS = [["graphics", "-rgc", "locked graphics clocks"], [
  "memory",
  "-rmc",
  "locked memory clocks",
], [
  "applications",
  "-rac",
  "applications clocks",
]] as const;

/** Plans to undo locked clocks. Nothing else of a GPU is touched, and its jobs go on; `[]` where something blocks it. */
export function planClocks(input: ResetInput, blockers: readonly Blocker[], kinds: ClockKinds): ResetStep[] {
  if (findStanding(blockers, input.flags).length > 0) return [];
  return input.gpus.flatMap((gpu) =>
    CLOCK_FLAGS.filter(([kind]) => kinds[kind]).map(([clocks, flag, name]) =>
      step(
        "reset-clocks",
        `undo the ${name} of ${nameGpus([gpu])}, by NVML or, without such a call, by nvidia-smi`,
        {
          gpu,
          clocks,
          command: smi([gpu], [flag]),
        },
      )
    )
  );
}

/** The GPUs that a step of nvidia-smi names; none for another step. */
export function busIdsOf({ command }: Pick<ResetStep, "command">): readonly BusId[] {
  if (command?.[0] !== SMI) return [];
  const named = command[command.indexOf("-i") + 1] ?? "";
  return named.split(",").map(parseBusId);
}

const SMI = "nvidia-smi";

/** Words of nvidia-smi for some GPUs, by PCI addresses as it prints them: an index may be another GPU's by then. */
function smi(gpus: readonly Gpu[], words: readonly string[]): readonly string[] {
  const named = gpus.map(({ busId, index }) => {
    // A blocker stands for a GPU without an address, so that no plan is made for it.
    if (!busId.ok) throw new TypeError(`Cannot name GPU ${index} to nvidia-smi: it has no PCI address`);
    return busId.value.toUpperCase();
  });
  return [SMI, "-i", named.join(","), ...words];
}

function planGroup(group: readonly Gpu[]): ResetStep {
  const [first] = group;
  const what = group.length === 1 ? `reset ${nameGpus(group)}` : `reset ${nameGpus(group)} in one command`;
  return step("reset", what, {
    ...(group.length === 1 && first !== undefined ? { gpu: first } : {}),
    command: smi(group, ["-r"]),
  });
}

function planPersistence(gpu: Gpu, to: "on" | "off"): ResetStep {
  const what = `switch persistence mode of ${nameGpus([gpu])} ${to === "on" ? "on again" : "off"}`;
  return step(`persistence-${to}`, what, {
    gpu,
    command: smi([gpu], ["-pm", to === "on" ? "1" : "0"]),
    isUndo: to === "on",
  });
}

function planEvictions(input: ResetInput, blockers: readonly Blocker[]): ResetStep[] {
  const pids = new Set(
    blockers.flatMap(({ clearedBy, pid }) => clearedBy === "evict" && pid !== undefined ? [pid] : []),
  );
  if (pids.size === 0) return [];
  const names = [...pids].sort((a, b) => a - b).map((pid) => nameProcess(pid, input));
  return [step("evict", `end ${names.join(", ")}, if a second look agrees`)];
}

/** Each once, in the order of the blockers: who was named first goes first, and comes back last. */
function findUnits(blockers: readonly Blocker[]): readonly string[] {
  return [
    ...new Set(
      blockers.flatMap(({ clearedBy, unit }) =>
        clearedBy === "stop-services" && unit !== undefined ? [unit] : []
      ),
    ),
  ];
}

function describeHelpers(input: ResetInput): string {
  const scan = scanOf(input);
  const open =
    scan?.reader.ownPids.filter((pid) =>
      scan.uses.get(pid)?.some(({ node }) => node.kind === "gpu") ?? false
    ) ?? [];
  const seen = open.length === 0 ? "" : `: PID ${open.join(", ")} has a GPU open`;
  return `close gpuctl's own helper${seen}`;
}

interface StepParts {
  readonly gpu?: Gpu;
  readonly unit?: string;
  readonly clocks?: ClockKind;
  readonly command?: readonly string[];
  readonly isUndo?: boolean;
}

function step(
  kind: ResetStepKind,
  what: string,
  { gpu, unit, clocks, command, isUndo = false }: StepParts = {},
): ResetStep {
  return {
    kind,
    ...(gpu && { gpu: gpu.uuid }),
    ...(unit !== undefined && { unit }),
    ...(clocks && { clocks }),
    what,
    ...(command && { command }),
    isUndo,
    state: "planned",
  };
}
