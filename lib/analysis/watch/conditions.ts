/** The rules that need no memory of their own: what is so on the GPUs at one moment. */
import { formatAbsent, type Reading, type Why } from "../../core/reading.ts";
import { bytes, formatBytes, type Milliseconds, milliseconds } from "../../core/units.ts";
import type { DriverReport, Gpu } from "../../model/gpu.ts";
import type { Snapshot } from "../../model/snapshot.ts";
import type { Condition, MemoryLimit, WatchedGpu, WatchRules } from "../../model/watch.ts";
import { nameProcess, watchedGpu, watchedProcess } from "./naming.ts";

/** What falls below this share of its limit is well again; what stays between has not come back. */
const WELL_BELOW = 0.95;
/** The driver counts in whole percents; a GPU at 99 is as busy as one at 100. */
const BUSY_PERCENT = 99;
const AT_ONCE = milliseconds(0);

const LOST: readonly Why[] = ["lost", "reset-required"];

type Told = Pick<Condition, "message" | "evidence" | "advice">;

/** A condition that is enough for an alert as soon as it is seen, unless something else is said. */
function condition(
  kind: Condition["kind"],
  told: Told & Partial<Omit<Condition, "kind" | "key">> & { readonly about?: string },
): Condition {
  const { about = "", ...rest } = told;
  const { gpu, process } = rest;
  const key = [kind, gpu?.uuid ?? gpu?.index, process?.pid, about].filter((part) => part !== undefined).join(
    " ",
  ).trim();
  return {
    severity: "warning",
    gpu: undefined,
    process: undefined,
    isOver: true,
    after: AT_ONCE,
    already: AT_ONCE,
    ...rest,
    kind,
    key,
  };
}

/** The driver does not answer. */
export function driverConditions(report: Reading<DriverReport>): Condition[] {
  if (report.ok) return [];
  return [condition("driver", {
    severity: "err",
    message: `the driver gives no answer: ${formatAbsent(report)}`,
    evidence: [],
    advice: "gpuctl snapshot says what can be seen without it",
  })];
}

/** GPUs that were there, or that the driver counts, and cannot be asked. */
export function lostConditions(
  { gpus, unreadableGpus }: DriverReport,
  known: ReadonlyMap<number, WatchedGpu>,
): Condition[] {
  const unreadable = new Map(unreadableGpus.map(({ index, reason }) => [Number(index), reason]));
  const there = new Set(gpus.map(({ index }) => Number(index)));
  const gone = [...known.values()].filter(({ index }) => !there.has(index) && !unreadable.has(index));
  // A GPU that was opened before it was lost is still listed; its values say what has become of it.
  const silent = gpus.flatMap(({ index, memoryUsed: reason }) =>
    !reason.ok && LOST.includes(reason.why) ? [{ index, reason }] : []
  );
  return [
    ...[...unreadableGpus, ...silent].map(({ index, reason }) =>
      condition("gpu-lost", {
        severity: "err",
        gpu: known.get(index) ?? { index, uuid: undefined },
        message: `GPU ${index} cannot be asked: ${formatAbsent(reason)}`,
        evidence: [],
        advice: `gpuctl reset-gpu ${index} says whether a reset can bring it back`,
      })
    ),
    ...gone.map((gpu) =>
      condition("gpu-lost", {
        severity: "err",
        gpu,
        message: `GPU ${gpu.index} is gone: the driver no longer names it`,
        evidence: [],
        advice: "look into the kernel's log: journalctl -k -g NVRM",
      })
    ),
  ];
}

/** What the driver asks for to mend a GPU. */
export function recoveryConditions(gpus: readonly Gpu[]): Condition[] {
  return gpus.flatMap((gpu) => {
    if (!gpu.recoveryAction.ok || gpu.recoveryAction.value === "none") return [];
    return [condition("recovery", {
      severity: "err",
      gpu: watchedGpu(gpu),
      about: gpu.recoveryAction.value,
      message: `the driver asks for recovery of GPU ${gpu.index}: ${gpu.recoveryAction.value}`,
      evidence: [],
      advice: `gpuctl reset-gpu ${gpu.index} says what stands in the way`,
    })];
  });
}

/** GPUs with more memory in use than they should have. */
export function memoryConditions(gpus: readonly Gpu[], limit: MemoryLimit): Condition[] {
  return gpus.flatMap((gpu) => {
    const { memoryUsed: used, memoryTotal: total } = gpu;
    if (!used.ok || ("percent" in limit && !total.ok)) return [];
    const most = "bytes" in limit ? limit.bytes : total.ok ? total.value * limit.percent / 100 : Infinity;
    if (used.value <= most * WELL_BELOW) return [];
    const of = total.ok && total.value > 0
      ? ` of ${formatBytes(total.value)} (${Math.floor(used.value / total.value * 100)} %)`
      : "";
    return [condition("memory", {
      gpu: watchedGpu(gpu),
      isOver: used.value > most,
      message: `${formatBytes(used.value)}${of} are in use on GPU ${gpu.index}`,
      evidence: [`the limit is ${formatBytes(bytes(Math.floor(most)))}`],
      advice: `gpuctl snapshot --gpu ${gpu.index} says who has it`,
    })];
  });
}

/** Memory that no process accounts for. */
export function unattributedConditions(
  { gpus }: Snapshot,
  { above, for: after }: NonNullable<WatchRules["unattributed"]>,
): Condition[] {
  return gpus.flatMap(({ gpu, unattributed, cause }) => {
    if (!unattributed.ok || unattributed.value <= above * WELL_BELOW) return [];
    return [condition("unattributed", {
      gpu: watchedGpu(gpu),
      isOver: unattributed.value > above,
      after,
      message: `${formatBytes(unattributed.value)} on GPU ${gpu.index} are listed with no process`,
      evidence: cause === undefined ? [] : [cause],
      advice: `gpuctl snapshot --gpu ${gpu.index} says what may hold them`,
    })];
  });
}

/** Memory of the dead. */
export function ghostConditions({ ghosts, gpus, holders }: Snapshot, after: Milliseconds): Condition[] {
  return ghosts.flatMap((ghost) => {
    const gpu = gpus.find((each) => each.gpu.uuid === ghost.gpu)?.gpu;
    if (gpu === undefined) return [];
    const amount = ghost.contextBytes.ok ? formatBytes(ghost.contextBytes.value) : "memory of unknown size";
    const keepers = ghost.likelyHolders.map(({ pid, reasons }) => {
      const holder = holders.find((each) => each.pid === pid);
      return `most likely kept by ${nameProcess(watchedProcess(pid, holder))}: ${reasons.join(", ")}`;
    });
    return [condition("ghost", {
      gpu: watchedGpu(gpu),
      process: { pid: ghost.pid, command: undefined },
      after,
      message: `PID ${ghost.pid} is dead and still has ${amount} on GPU ${gpu.index}`,
      evidence: keepers.length > 0 ? keepers : ["kept by no process that can be seen"],
      advice: keepers.length > 0
        ? `gpuctl clean-zombies --gpu ${gpu.index} shows how to end safely what keeps it`
        : `gpuctl reset-gpu ${gpu.index} says whether a reset would help`,
    })];
  });
}

/** Fully busy GPUs that nobody uses: a latch of the driver's, not work. */
export function busyConditions(snapshot: Snapshot, after: Milliseconds): Condition[] {
  return snapshot.gpus.flatMap(({ gpu }) => {
    const { utilization, processList, memoryUsed } = gpu;
    if (!utilization.ok || utilization.value < BUSY_PERCENT || !isUnused(gpu, snapshot)) return [];
    return [condition("busy-without-process", {
      gpu: watchedGpu(gpu),
      after,
      message: `GPU ${gpu.index} says that it is ${
        Math.round(utilization.value)
      } % busy, and no process uses it`,
      evidence: [
        processList.state === "known" && memoryUsed.ok
          ? `no context is listed, ${formatBytes(memoryUsed.value)} are in use`
          : "no context is listed",
      ],
      advice:
        "starting and ending any small CUDA program there often clears it; only then think of gpuctl reset-gpu",
    })];
  });
}

/** Nobody is seen to use it, and everybody could be seen. */
function isUnused({ processList, uuid }: Gpu, { holders, problems }: Snapshot): boolean {
  if (processList.state !== "known" || processList.contexts.length > 0) return false;
  if (problems.some(({ reason }) => reason.why === "hidden")) return false;
  return !holders.some(({ devices }) =>
    devices.some(({ gpu, isMapped }) => gpu === uuid && isMapped.ok && isMapped.value)
  );
}
