/** Who has a GPU open, whatever for. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { isTrue } from "../core/reading.ts";
import type { Gpu } from "../model/gpu.ts";
import type { DeviceUse } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import type { Blocker } from "../model/reset.ts";
import type { Holder } from "../model/snapshot.ts";
import { type ResetInput, scanOf } from "./reset_input.ts";

/** One process on one GPU, with all that is known of it. */
export interface GpuUser {
  readonly pid: Pid;
  readonly gpu: Gpu;
  readonly process: Process | undefined;
  readonly holder: Holder | undefined;
  /** Has memory of it, or has it mapped: more than an open descriptor. */
  readonly holds: boolean;
}

/** Says whether something that a process has of the driver is of this GPU; of any where its number is not known. */
export function isUseOf({ node }: Pick<DeviceUse, "node">, { minor }: Gpu): boolean {
  return node.kind === "gpu" && (!minor.ok || node.minor === minor.value);
}

/** Every process that has a GPU open, mapped or memory on it, ourselves left out. */
export function usersOf(gpu: Gpu, input: ResetInput): GpuUser[] {
  const scan = scanOf(input);
  const own = new Set(scan?.reader.ownPids ?? []);
  const open = [...scan?.uses ?? []].filter(([, uses]) => uses.some((use) => isUseOf(use, gpu)))
    .map(([pid]) => pid);
  const listed = input.snapshot.holders.filter(({ devices }) => devices.some((each) => each.gpu === gpu.uuid))
    .map(({ pid }) => pid);
  return [...new Set([...open, ...listed])].filter((pid) => !own.has(pid)).sort((a, b) => a - b).map(
    (pid) => {
      const holder = input.snapshot.holders.find((each) => each.pid === pid);
      const process = scan?.processes.get(pid);
      return { pid, gpu, process, holder, holds: hasPart(holder, gpu.uuid) };
    },
  );
}

function hasPart(holder: Holder | undefined, gpu: GpuUuid): boolean {
  return holder?.devices.some((each) => each.gpu === gpu && hasPartOf(each)) ?? false;
}

/** Says whether somebody has memory of a GPU, or has it mapped. */
export function hasPartOf({ isMapped, contextBytes }: Holder["devices"][number]): boolean {
  return isTrue(isMapped) || (contextBytes.ok && contextBytes.value > 0);
}

/** Our helper is closed before a reset. What this program itself was started with stays open for as long as it runs. */
export function findOwnOpening(gpu: Gpu, input: ResetInput): Blocker[] {
  const scan = scanOf(input);
  const pid = scan?.reader.pid;
  if (pid === undefined || !(scan?.uses.get(pid) ?? []).some((use) => isUseOf(use, gpu))) return [];
  return [{
    gpu: gpu.uuid,
    pid,
    kind: "opener",
    who: `gpuctl itself (PID ${pid})`,
    why: "was started with it open: a redirection of the shell, or a descriptor of who started it",
    remedy: "start gpuctl without it",
    clearedBy: "nobody",
  }];
}
