/** What is known of one process and the GPUs, gathered once, for the rules to judge. */
import type { Pid } from "../core/ids.ts";
import { absent, known, mapReading, type Reading } from "../core/reading.ts";
import { type Bytes, bytes } from "../core/units.ts";
import { type Context, contextsOf, type Gpu, type ProcessList } from "../model/gpu.ts";
import type { DeviceUse, ProcessScan } from "../model/observation.ts";
import type { Process, ProcessState } from "../model/process.ts";
import type { HolderDevice } from "../model/snapshot.ts";

/** A context whose pid is not alive, on its GPU. */
export interface DeadContext {
  readonly gpu: Gpu;
  readonly context: Context;
  /** The dead process where its parent has not reaped it yet. */
  readonly zombie: Process | undefined;
}

/** How a process touches the driver: `client` has device memory mapped, `monitor` has only descriptors. */
export type DriverUse = "client" | "monitor" | "none" | "unknown";

export interface Facts {
  readonly process: Process;
  readonly scan: ProcessScan;
  /** Its part on each GPU that it has open, mapped or a context on. */
  readonly devices: readonly HolderDevice[];
  readonly contexts: readonly { readonly gpu: Gpu; readonly context: Context }[];
  readonly driverUse: DriverUse;
  /** It has what only fork(2) can have given it: a context's descriptors and mappings, and no context started by itself. */
  readonly hasInheritedDescriptors: boolean;
  /** Dead contexts on GPUs that it has mapped. */
  readonly deadContexts: readonly DeadContext[];
}

/** States in which a thread can still hold something. */
const ENDED: readonly ProcessState[] = ["Z", "X"];

/** Says whether nothing of the process runs any more: a zombie without live threads holds nothing. */
export function hasEnded(process: Process): boolean {
  if (!ENDED.includes(process.state)) return false;
  if (process.threadStates.ok) return process.threadStates.value.every((state) => ENDED.includes(state));
  return process.threads <= 1;
}

/** Says whether the main thread is dead while others live. */
export function isZombieLeader(process: Process): boolean {
  return process.state === "Z" && !hasEnded(process);
}

/** Says whether a thread is in state D: until it leaves it, no signal ends the process. */
export function isInStateD({ state, threadStates }: Process): boolean {
  return state === "D" || (threadStates.ok && threadStates.value.includes("D"));
}

/** Gathers the facts about one process. */
export function gatherFacts(
  process: Process,
  world: { readonly scan: ProcessScan; readonly gpus: readonly Gpu[]; readonly dead: readonly DeadContext[] },
): Facts {
  const uses = world.scan.uses.get(process.pid) ?? [];
  const contexts = world.gpus.flatMap((gpu) =>
    contextsOf(gpu.processList).filter(({ pid }) => pid === process.pid).map((context) => ({ gpu, context }))
  );
  const driverUse = judgeDriverUse(process.pid, uses, world.scan);
  const devices = world.gpus.flatMap((gpu) => deviceOf(gpu, uses, process.pid, world.scan) ?? []);
  const mapped = new Set(
    devices.filter(({ isMapped }) => isMapped.ok && isMapped.value).map(({ gpu }) => gpu),
  );
  return {
    process,
    scan: world.scan,
    devices,
    contexts,
    driverUse,
    hasInheritedDescriptors: isHeir(process.pid, world.scan),
    deadContexts: world.dead.filter(({ gpu }) => mapped.has(gpu.uuid) && isContextGrade(gpu, uses)),
  };
}

/**
 * Says whether a process has as much of a GPU as one has with a context there. A GPU that is merely visible is mapped too,
 * with a third of the descriptors (7 against 23 on an H200, driver 580.159.04).
 */
function isContextGrade(gpu: Gpu, uses: readonly DeviceUse[]): boolean {
  const counts = uses.flatMap(({ node, descriptors }) =>
    node.kind === "gpu" ? [{ minor: node.minor, descriptors }] : []
  );
  const most = Math.max(...counts.map(({ descriptors }) => descriptors));
  const own = counts.find(({ minor }) => gpu.minor.ok && minor === gpu.minor.value);
  return own !== undefined && own.descriptors * 2 > most;
}

/** Sum of a process's contexts on one GPU. MPS and graphics rows of one pid have been merged by the source. */
export function contextBytesOf(pid: Pid, { processList }: Gpu): Reading<Bytes> {
  return sumContexts(contextsOf(processList).filter((context) => context.pid === pid), processList);
}

/** The same for contexts of one process that have been found in a list already. */
export function sumContexts(own: readonly Context[], list: ProcessList): Reading<Bytes> {
  if (list.state === "unknown") return list.reason;
  if (own.length === 0) return list.state === "known" ? known(bytes(0)) : list.reason;
  let sum = 0;
  for (const { used } of own) {
    if (!used.ok) return used;
    sum += used.value;
  }
  // A saved text may say anything.
  if (!Number.isSafeInteger(sum)) {
    return absent("implausible", "its contexts add up to more than any GPU has");
  }
  return known(bytes(sum));
}

function deviceOf(
  gpu: Gpu,
  uses: readonly DeviceUse[],
  pid: Pid,
  scan: ProcessScan,
): HolderDevice | undefined {
  const minor = gpu.minor.ok ? gpu.minor.value : undefined;
  const use = uses.find(({ node }) => node.kind === "gpu" && node.minor === minor);
  const isListed = contextsOf(gpu.processList).some((context) => context.pid === pid);
  if (use === undefined && !isListed) return undefined;
  const unseen = use === undefined && scan.coverage.unreadable > 0
    ? absent("no-permission", "its descriptors cannot be listed by this user")
    : undefined;
  return {
    gpu: gpu.uuid,
    contextBytes: contextBytesOf(pid, gpu),
    isOpen: unseen ?? known((use?.descriptors ?? 0) > 0),
    isMapped: unseen ?? (use ? mapReading(use.mappings, (count) => count > 0) : known(false)),
  };
}

function judgeDriverUse(pid: Pid, uses: readonly DeviceUse[], scan: ProcessScan): DriverUse {
  if (!scan.uses.has(pid)) return scan.coverage.unreadable > 0 || scan.coverage.cutShort ? "unknown" : "none";
  if (uses.some(({ mappings }) => mappings.ok && mappings.value > 0)) return "client";
  return uses.every(({ mappings }) => mappings.ok) ? "monitor" : "unknown";
}

/**
 * Says whether a process has what fork(2) copies of a context: nvidia-uvm open and not mapped, and the control node
 * mapped many times. Of itself a process maps nvidia-uvm as long as it has a context, and without one (cuInit alone, or a
 * context given up) the control node once; a context maps it 22 to 27 times (H200, driver 580.159.04).
 */
export function isHeir(pid: Pid, scan: ProcessScan): boolean {
  const uses = scan.uses.get(pid) ?? [];
  const [uvm, control] = [findUse(uses, "uvm"), findUse(uses, "control")];
  return uvm !== undefined && uvm.descriptors > 0 && uvm.mappings.ok && uvm.mappings.value === 0 &&
    control !== undefined && control.mappings.ok && control.mappings.value > 1;
}

function findUse(uses: readonly DeviceUse[], kind: "uvm" | "control"): DeviceUse | undefined {
  return uses.find(({ node }) => node.kind === kind);
}
