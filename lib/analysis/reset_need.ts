/** Whether a reset would help a GPU. Pure: one look in, one verdict a GPU out, with all that speaks for it. */
import type { GpuIndex } from "../core/ids.ts";
import { type Absent, absent, formatAbsent } from "../core/reading.ts";
import type { Gpu, RecoveryAction } from "../model/gpu.ts";
import { standInUuid } from "../model/gpu_identity.ts";
import type { GpuResetNeed, ResetAdvice } from "../model/reset.ts";
import type { ResetInput } from "./reset_input.ts";
import { judgeDefects } from "./reset_need_defects.ts";
import { judgeHeldMemory } from "./reset_need_memory.ts";
import type { ResetSign } from "./reset_sign.ts";
import { judgeXids, type XidAction } from "./xids.ts";

/** Most drastic first. What could not be read outweighs that all the rest is well. */
const DRASTIC_FIRST: readonly ResetAdvice[] = [
  "reboot",
  "drain",
  "reset",
  "end-processes",
  "unknown",
  "none",
];

interface ActionMeaning {
  readonly advice: ResetAdvice;
  readonly reason: string;
}

/** What NVIDIA says to do about each recovery action (nvml.h, nvmlDeviceGpuRecoveryAction_t). */
const ACTION_MEANINGS = {
  none: { advice: "none", reason: "the driver asks for no recovery" },
  reset: { advice: "reset", reason: "the driver asks for a reset" },
  "bus-reset": {
    advice: "reset",
    reason: "the driver asks for a reset of its bus: nvidia-smi -r bus, since driver 580",
  },
  "drain-p2p": {
    advice: "drain",
    reason: "the driver asks to end all peer-to-peer traffic, then for a reset",
  },
  "drain-and-reset": { advice: "drain", reason: "the driver asks to let its jobs end, then for a reset" },
  reboot: { advice: "reboot", reason: "the driver asks for a reboot: a reset does not help" },
  "system-reboot": { advice: "reboot", reason: "the driver asks for a reboot: a reset does not help" },
  "recover-imex-domain": {
    advice: "none",
    reason:
      "the driver asks for its IMEX domain: restart nvidia-imex on every node of it; a reset does not help",
  },
} as const satisfies Record<RecoveryAction, ActionMeaning>;

const XID_ADVICE = {
  none: "none",
  reset: "reset",
  drain: "drain",
  reboot: "reboot",
  unknown: "unknown",
} as const satisfies Record<XidAction, ResetAdvice>;

/** Says for each chosen GPU whether a reset would help it. */
export function judgeResetNeeds(input: ResetInput): GpuResetNeed[] {
  return input.gpus.map((gpu) => judgeResetNeed(gpu, input));
}

/**
 * Says whether a reset would help one GPU. The driver's own word decides where it gives one; `none` is said only where
 * everything that it rests on was read.
 */
export function judgeResetNeed(gpu: Gpu, input: ResetInput): GpuResetNeed {
  const lost = judgeLoss(gpu);
  const signs = [
    ...lost,
    ...judgeAction(gpu),
    ...judgeHistory(gpu, input),
    ...(lost.length > 0 ? [] : [...judgeDefects(gpu, input), ...judgeHeldMemory(gpu, input)]),
  ];
  const advice = DRASTIC_FIRST.find((each) => signs.some((sign) => sign.advice === each)) ?? "unknown";
  // What speaks for the verdict stands first; what could not be read stands last.
  const ordered = [...signs].sort((a, b) => placeOf(a, advice) - placeOf(b, advice));
  const processes = advice === "end-processes" ? ordered.flatMap((sign) => sign.processes ?? []) : [];
  return {
    gpu: gpu.uuid,
    index: gpu.index,
    name: gpu.name,
    advice,
    reasons: [...new Set(ordered.map(({ reason }) => reason))],
    processes: [...new Set(processes)].sort((a, b) => a - b),
  };
}

/** The verdict on a GPU that the driver counts and cannot open. */
export function judgeUnreadableGpu(index: GpuIndex, reason: Absent): GpuResetNeed {
  const advice = adviceOfAbsence(reason);
  return {
    gpu: standInUuid({ index }),
    index,
    name: absent(reason.why, reason.detail),
    advice: advice?.advice ?? "unknown",
    reasons: [advice?.reason ?? `it cannot be opened: ${formatAbsent(reason)}`],
    processes: [],
  };
}

function placeOf({ advice }: ResetSign, verdict: ResetAdvice): number {
  return advice === verdict ? -1 : DRASTIC_FIRST.indexOf(advice);
}

function adviceOfAbsence({ why }: Absent): ResetSign | undefined {
  if (why === "lost") {
    return {
      advice: "reboot",
      reason: "it has fallen off the bus: only a reboot, or cutting the power, brings it back",
    };
  }
  return why === "reset-required"
    ? { advice: "reset", reason: "the driver refuses every question until it is reset" }
    : undefined;
}

/** A GPU that is lost says so in place of each value. */
function judgeLoss(gpu: Gpu): ResetSign[] {
  const readings = [gpu.recoveryAction, gpu.memoryUsed, gpu.memoryTotal, gpu.utilization, gpu.name];
  const list = gpu.processList.state === "unknown" ? [gpu.processList.reason] : [];
  const signs = [...readings, ...list].flatMap((each) => each.ok ? [] : adviceOfAbsence(each) ?? []);
  const worst = signs.find(({ advice }) => advice === "reboot") ?? signs[0];
  return worst === undefined ? [] : [worst];
}

function judgeAction({ recoveryAction: action }: Gpu): ResetSign[] {
  if (action.ok) return [ACTION_MEANINGS[action.value]];
  if (adviceOfAbsence(action)) return [];
  return [{
    advice: "unknown",
    reason: `which recovery the driver asks for is not known: ${formatAbsent(action)}`,
  }];
}

/**
 * Errors of the past. A driver that names its recovery action has taken them into account; of one that does not, it has
 * been said already that too little is known.
 */
function judgeHistory(gpu: Gpu, { facts: { kernelLog }, ownKills, lastResets }: ResetInput): ResetSign[] {
  if (!gpu.busId.ok) {
    return [{ advice: "none", reason: "its PCI address is not known, and so is its history" }];
  }
  if (!kernelLog.ok) {
    return [{ advice: "none", reason: `the history of its errors is not known: ${formatAbsent(kernelLog)}` }];
  }
  const busId = gpu.busId.value;
  const history = judgeXids(kernelLog.value.xids, { busId, ownKills, lastReset: lastResets?.get(busId) });
  const isDecided = gpu.recoveryAction.ok;
  const signs = history.reasons.map((reason): ResetSign => ({
    advice: isDecided ? "none" : XID_ADVICE[history.action],
    reason: isDecided ? `history: ${reason}` : reason,
  }));
  if (kernelLog.value.isWhole) return signs;
  return [...signs, {
    advice: "none",
    reason: "the kernel log no longer reaches back to boot: earlier errors are not known",
  }];
}
