/** What is wrong with a GPU itself, or waits for its next reset. */
import { isTrue, type Reading } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import { contextsOf, type Gpu } from "../model/gpu.ts";
import type { GpuHealth, PendingMode } from "../model/gpu_health.ts";
import { holdersOn, type ResetInput } from "./reset_input.ts";
import { gapOf, IDLE_BYTES, type ResetSign } from "./reset_sign.ts";

/** A GPU that nobody uses and that claims to be this busy is latched. */
const LATCHED_PERCENT = 99;

/** What speaks for a reset in the state of one GPU. */
export function judgeDefects(gpu: Gpu, input: ResetInput): ResetSign[] {
  return [...judgeStuckHolders(gpu, input), ...judgeHealth(gpu, input), ...judgeUtilization(gpu, input)];
}

/** A thread in the driver that no signal reaches keeps the GPU in use, and a reset is refused. */
function judgeStuckHolders(gpu: Gpu, input: ResetInput): ResetSign[] {
  return holdersOn(gpu.uuid, input).filter((holder) => holder.class === "stuck").map(({ pid, evidence }) => ({
    advice: "reboot",
    reason: `PID ${pid} ${
      evidence[0] ?? "is in state D"
    }; a reset is refused while it is there. Look again in a minute: if it stays, only a reboot ends it`,
  }));
}

function judgeHealth(gpu: Gpu, input: ResetInput): ResetSign[] {
  const { health } = gpu;
  if (health === undefined) return [{ advice: "unknown", reason: "the state of its memory was not read" }];
  return [
    ...judgeRows(gpu, health),
    ...judgePending(health.ecc, "ECC", gpu),
    ...judgePending(gpu.migMode, "MIG", gpu),
    ...judgeFabric(health, input),
  ];
}

function judgeRows(
  gpu: Gpu,
  { remappedRows, hasRetirementPending, uncorrectedErrors }: GpuHealth,
): ResetSign[] {
  const signs: ResetSign[] = [];
  if (remappedRows.ok && remappedRows.value.hasFailed) {
    signs.push({
      advice: "none",
      reason: "a row of its memory could not be remapped: no reset mends that; have the card replaced",
    });
  }
  if (remappedRows.ok && remappedRows.value.isPending) {
    signs.push({ advice: once(gpu), reason: "bad rows of its memory are remapped at the next reset" });
  }
  if (isTrue(hasRetirementPending)) {
    signs.push({ advice: once(gpu), reason: "bad pages of its memory are retired at the next reset" });
  }
  if (uncorrectedErrors.ok && uncorrectedErrors.value > 0) {
    const count = plural(uncorrectedErrors.value, "uncorrected memory error");
    // A driver that names its recovery action has taken them into account.
    signs.push({
      advice: gpu.recoveryAction.ok ? "none" : once(gpu),
      reason: `${count} since the driver was loaded`,
    });
  }
  if (
    !remappedRows.ok && remappedRows.why === "not-supported" && gpu.migMode.ok && gpu.migMode.value.current
  ) {
    signs.push({
      advice: gpu.recoveryAction.ok ? "none" : "unknown",
      reason: "whether rows of its memory wait for a reset is not told while MIG is on",
    });
  }
  return [
    ...signs,
    ...gapOf(remappedRows, "whether rows of its memory wait for a reset"),
    ...gapOf(hasRetirementPending, "whether pages of its memory wait for a reset"),
  ];
}

function judgePending(mode: Reading<PendingMode>, name: string, gpu: Gpu): ResetSign[] {
  if (!mode.ok) return gapOf(mode, `whether ${name} changes with a reset`);
  const { current, pending } = mode.value;
  if (current === pending) return [];
  return [{ advice: once(gpu), reason: `${name} is turned ${pending ? "on" : "off"} at the next reset` }];
}

/** A GPU that did not register with its fabric cannot reach its peers; its memory and its own work are fine. */
function judgeFabric({ fabric, hasNvSwitch }: GpuHealth, { facts }: ResetInput): ResetSign[] {
  if (!isTrue(hasNvSwitch)) return [];
  if (!fabric.ok) return gapOf(fabric, "whether it has joined its NVLink fabric");
  const { state, status } = fabric.value;
  if (state === "completed") {
    return status === 0 ? [] : [{
      advice: "reset",
      reason: `it could not join its NVLink fabric (status ${status}): a reset lets it try again`,
    }];
  }
  const isManaged = facts.services.ok &&
    facts.services.value.some(({ kind, isActive }) => kind === "fabric-manager" && isActive);
  return [{
    advice: "none",
    reason: isManaged
      ? "it has not joined its NVLink fabric yet: see the log of Fabric Manager"
      : "it has not joined its NVLink fabric: start Fabric Manager; a reset does not help",
  }];
}

/** 100 % busy, with no memory and nobody there: seen after a process was ended in the middle of a kernel. */
function judgeUtilization(gpu: Gpu, input: ResetInput): ResetSign[] {
  const { utilization, memoryUsed, processList } = gpu;
  if (!utilization.ok) return gapOf(utilization, "how busy it is");
  const isEmpty = processList.state === "known" && processList.contexts.length === 0 && memoryUsed.ok &&
    memoryUsed.value < IDLE_BYTES;
  const isUsed = holdersOn(gpu.uuid, input).some(({ devices }) =>
    devices.some((device) => device.gpu === gpu.uuid && isTrue(device.isMapped))
  );
  if (utilization.value < LATCHED_PERCENT || !isEmpty || isUsed) return [];
  return [{
    advice: "reset",
    reason: `it claims to be ${
      Math.round(utilization.value)
    } % busy with no process and no memory in use. Milder first: run a program that opens and closes a CUDA context, or look again with persistence mode off; a reset if it stays`,
  }];
}

/** What waits for a reset need not be forced on jobs at work. */
function once(gpu: Gpu): "drain" | "reset" {
  return contextsOf(gpu.processList).length > 0 ? "drain" : "reset";
}
