/** Memory that is held, and whether ending somebody gives it back without a reset. */
import { formatAbsent, isFalse, isTrue } from "../core/reading.ts";
import { bytes, formatBytes } from "../core/units.ts";
import type { Gpu } from "../model/gpu.ts";
import type { GpuAccount, Holder, HolderClass } from "../model/snapshot.ts";
import { DEFAULT_CLASSES } from "./ending_policy.ts";
import { holdersOn, nameProcess, type ResetInput, whyScanIncomplete } from "./reset_input.ts";
import { IDLE_BYTES, type ResetSign } from "./reset_sign.ts";

/** Rounding and reserves of a large card: this share of what is used says nothing. */
const TOLERATED_SHARE = 0.01;
const LEFT_BEHIND: ReadonlySet<HolderClass> = new Set(DEFAULT_CLASSES);

/** What the memory in use on one GPU speaks for. */
export function judgeHeldMemory(gpu: Gpu, input: ResetInput): ResetSign[] {
  return [
    ...judgeList(gpu),
    ...judgeLeftBehind(gpu, input),
    ...judgeGhosts(gpu, input),
    ...judgeUnattributed(gpu, input),
  ];
}

function judgeList({ processList, memoryUsed }: Gpu): ResetSign[] {
  const signs: ResetSign[] = [];
  if (processList.state !== "known") {
    signs.push({
      advice: "unknown",
      reason: `who has memory on it is not known: ${formatAbsent(processList.reason)}`,
    });
  }
  if (!memoryUsed.ok) {
    signs.push({
      advice: "unknown",
      reason: `how much memory is used is not known: ${formatAbsent(memoryUsed)}`,
    });
  }
  return signs;
}

function judgeLeftBehind(gpu: Gpu, input: ResetInput): ResetSign[] {
  return holdersOn(gpu.uuid, input)
    .filter((holder) => LEFT_BEHIND.has(holder.class) && mayHoldMemory(holder, gpu)).map((holder) => ({
      advice: "end-processes",
      reason: `end ${nameProcess(holder.pid, input)} instead: ${describe(holder)}`,
      processes: [holder.pid],
    }));
}

/** Every user of NVML has all GPUs open: who is known to have no more than that keeps no memory from anybody. */
function mayHoldMemory({ devices }: Holder, { uuid }: Gpu): boolean {
  return devices.some(({ gpu, isMapped, contextBytes }) =>
    gpu === uuid && !(isFalse(isMapped) && contextBytes.ok && contextBytes.value === 0)
  );
}

function describe({ class: name, evidence: [first] }: Holder): string {
  return first === undefined ? name : `${name}, ${first}`;
}

/** Memory of the dead is kept by somebody alive, or by nobody, and only then a reset is what frees it. */
export function judgeGhosts(gpu: Gpu, input: ResetInput): ResetSign[] {
  const incomplete = whyScanIncomplete(input);
  return input.snapshot.ghosts.filter((ghost) => ghost.gpu === gpu.uuid).map((ghost): ResetSign => {
    const size = ghost.contextBytes.ok ? formatBytes(ghost.contextBytes.value) : "memory";
    const dead = `PID ${ghost.pid} is dead and still listed with ${size}`;
    const pids = ghost.likelyHolders.map(({ pid }) => pid);
    if (pids.length > 0) {
      return {
        advice: "end-processes",
        reason: `${dead}: end ${
          pids.map((pid) => nameProcess(pid, input)).join(", ")
        } instead, which likely keeps it`,
        processes: pids,
      };
    }
    return incomplete === undefined
      ? { advice: "reset", reason: `${dead}, and nobody alive keeps it` }
      : { advice: "unknown", reason: `${dead}; who keeps it is not known: ${incomplete}` };
  });
}

/** Memory that no process is listed with. Nothing is said where the list or the total was not read. */
export function judgeUnattributed(gpu: Gpu, input: ResetInput): ResetSign[] {
  const account: GpuAccount | undefined = input.snapshot.gpus.find((each) => each.gpu.uuid === gpu.uuid);
  if (account === undefined) return [{ advice: "unknown", reason: "its memory was not accounted for" }];
  const { unattributed, cause } = account;
  // An unread list or an unread total has been told already.
  if (!gpu.memoryUsed.ok || gpu.processList.state !== "known") return [];
  if (!unattributed.ok) {
    const reason = `how much of its memory no process has is not known: ${formatAbsent(unattributed)}`;
    // More listed than used: then nothing is left over.
    return [{ advice: unattributed.why === "implausible" ? "none" : "unknown", reason }];
  }
  const tolerated = Math.max(IDLE_BYTES, gpu.memoryUsed.value * TOLERATED_SHARE);
  if (unattributed.value <= tolerated) return [];
  const size = formatBytes(bytes(unattributed.value));
  const holders = holdersOn(gpu.uuid, input).filter(({ devices }) =>
    devices.some((device) => device.gpu === gpu.uuid && isTrue(device.isMapped))
  );
  const explained = cause === undefined ? "" : `: ${cause}`;
  if (holders.length > 0 || isTrue(gpu.displayActive)) {
    return [{ advice: "none", reason: `${size} are listed with no process${explained}` }];
  }
  const incomplete = whyScanIncomplete(input);
  if (incomplete !== undefined) {
    return [{ advice: "unknown", reason: `who holds ${size} is not known: ${incomplete}` }];
  }
  const mode = gpu.health?.virtualization;
  if (mode?.ok && mode.value.endsWith("-host")) {
    return [{
      advice: "none",
      reason: `${size} are listed with no process: a virtual machine may have them`,
    }];
  }
  return [{
    advice: "reset",
    reason: `${size} are in use and no process has it open: a reset gives them back`,
  }];
}
