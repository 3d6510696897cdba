/** Whether a GPU came back from a reset, and healthy: read again, never taken from what nvidia-smi said. */
import { absent, formatAbsent, type Reading } from "../core/reading.ts";
import { formatBytes } from "../core/units.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { GpuHealth } from "../model/gpu_health.ts";
import { findSameGpu } from "../model/gpu_identity.ts";
import type { ResetGpuResult } from "../model/reset.ts";
import { unattributedOf } from "./account.ts";
import { IDLE_BYTES } from "./reset_sign.ts";

/** Holds every GPU that was reset against what is read of it afterwards. */
export function judgeResetResults(
  before: readonly Gpu[],
  after: Reading<DriverReport>,
): ResetGpuResult[] {
  return before.map((gpu) => {
    if (!after.ok) {
      return resultOf(gpu, after, [`it cannot be read again: ${formatAbsent(after)}`]);
    }
    const now = findSameGpu(gpu, after.value.gpus);
    return judgeResetResult(gpu, now);
  });
}

/** Says whether one GPU is back and healthy. What cannot be read of it afterwards is a fault. */
export function judgeResetResult(before: Gpu, after: Gpu | undefined): ResetGpuResult {
  if (after === undefined) {
    return resultOf(before, absent("not-reported", "the GPU is gone"), [
      "it did not come back: the driver lists it no more",
    ]);
  }
  return resultOf(before, after.memoryUsed, [
    ...judgeMemory(after),
    ...judgeAction(before, after),
    ...judgePending(before, after),
    ...judgeClocks(before, after),
    ...judgeFabric(before, after),
  ]);
}

function resultOf(
  { uuid, index, memoryUsed }: Gpu,
  usedAfter: ResetGpuResult["usedAfter"],
  faults: readonly string[],
): ResetGpuResult {
  return { gpu: uuid, index, isBack: faults.length === 0, usedBefore: memoryUsed, usedAfter, faults };
}

function judgeMemory(after: Gpu): string[] {
  const { memoryUsed, processList } = after;
  if (!memoryUsed.ok) return [`its memory cannot be read: ${formatAbsent(memoryUsed)}`];
  if (processList.state !== "known") {
    return [`its process list cannot be read: ${formatAbsent(processList.reason)}`];
  }
  const left = unattributedOf(after);
  // With the reserve counted in and not said, or shares counted twice, there is nothing to compare.
  if (!left.ok || left.value <= IDLE_BYTES) return [];
  return [`${formatBytes(left.value)} are still in use, and no process is listed with them`];
}

function judgeAction(before: Gpu, { recoveryAction: action }: Gpu): string[] {
  if (action.ok) return action.value === "none" ? [] : [`the driver still asks for: ${action.value}`];
  // A driver that never had this answer owes none.
  const isOwed = before.recoveryAction.ok || action.why !== "not-supported";
  return isOwed ? [`which recovery the driver asks for cannot be read: ${formatAbsent(action)}`] : [];
}

function judgePending(before: Gpu, after: Gpu): string[] {
  const faults: string[] = [];
  const modes = [
    ["ECC", before.health?.ecc, after.health?.ecc],
    ["MIG", before.migMode, after.migMode],
  ] as const;
  for (const [name, was, is] of modes) {
    if (is?.ok && is.value.current !== is.value.pending) faults.push(`a change of ${name} is still pending`);
    if (was?.ok) faults.push(...owed(is, `whether a change of ${name} is pending`));
  }
  const [rowsBefore, rows] = [before.health?.remappedRows, after.health?.remappedRows];
  if (rows?.ok && rows.value.isPending) faults.push("rows of its memory still wait to be remapped");
  if (rows?.ok && rows.value.hasFailed) {
    faults.push("a row of its memory could not be remapped: have the card replaced");
  }
  // The driver does not tell of remapped rows while MIG is on.
  const isMig = after.migMode.ok && after.migMode.value.current;
  if (rowsBefore?.ok && !isMig) faults.push(...owed(rows, "whether rows of its memory wait to be remapped"));
  const [pagesBefore, pages] = [before.health?.hasRetirementPending, after.health?.hasRetirementPending];
  if (pages?.ok && pages.value) faults.push("pages of its memory still wait to be retired");
  if (pagesBefore?.ok) faults.push(...owed(pages, "whether pages of its memory wait to be retired"));
  return faults;
}

function judgeClocks(before: Gpu, after: Gpu): string[] {
  const [was, is] = [before.health?.smClockMegahertz, after.health?.smClockMegahertz];
  if (is?.ok) return is.value > 0 ? [] : ["its clock stands at 0 MHz"];
  return was?.ok ? owed(is, "its clock") : [];
}

function judgeFabric(before: Gpu, after: Gpu): string[] {
  const [was, is] = [fabricOf(before.health), fabricOf(after.health)];
  if (is?.ok) {
    const { state, status } = is.value;
    if (state !== "completed") return [`it has not joined its NVLink fabric: ${state}`];
    return status === 0 ? [] : [`it could not join its NVLink fabric: status ${status}`];
  }
  return was?.ok ? owed(is, "whether it has joined its NVLink fabric") : [];
}

/** Means something only for a GPU behind NVSwitches: others never begin to register. */
function fabricOf(health: GpuHealth | undefined): GpuHealth["fabric"] | undefined {
  return health?.hasNvSwitch.ok && health.hasNvSwitch.value ? health.fabric : undefined;
}

/** What was read before has to be read again. */
function owed(reading: Reading<unknown> | undefined, what: string): string[] {
  if (reading?.ok) return [];
  return [`${what} cannot be read${reading === undefined ? "" : `: ${formatAbsent(reading)}`}`];
}
