/** How processes touch the device nodes of a server, as counted in /proc on two H200s with driver 580.159.04. */
import { openSync, readdirSync, readlinkSync } from "node:fs";
import { errnoOf } from "../../core/errors.ts";
import type { Kernel } from "./kernel.ts";
import { controlNodePath, gpuNodePath, type SimServer, uvmNodePath } from "./server.ts";

const PAGE = 4096;

/** How often a process has one node open and how many lines of its maps name it. */
export interface NodeUse {
  readonly path: string;
  readonly open: number;
  readonly mapped: number;
}

/** How far a CUDA process goes with a GPU: kept from it by CUDA_VISIBLE_DEVICES, seen, or with a context on it. */
const GRADES = {
  hidden: { open: 3, mapped: 0 },
  visible: { open: 7, mapped: 2 },
  used: { open: 23, mapped: 3 },
} as const;

/** The nodes of a CUDA process. */
export function cudaNodes(
  server: SimServer,
  { used, visible }: { readonly used: ReadonlySet<number>; readonly visible: ReadonlySet<number> },
): NodeUse[] {
  const { directory } = server;
  return [
    ...workingGpus(server).map(({ index, minor }) => ({
      path: gpuNodePath(directory, minor),
      ...GRADES[used.has(index) ? "used" : visible.has(index) ? "visible" : "hidden"],
    })),
    { path: controlNodePath(directory), open: 2, mapped: 27 },
    { path: uvmNodePath(directory), open: 4, mapped: 1 },
  ];
}

/** The nodes of a process that only asks NVML. */
export function monitorNodes(server: SimServer): NodeUse[] {
  const { directory } = server;
  return [
    ...workingGpus(server).map(({ minor }) => ({ path: gpuNodePath(directory, minor), ...GRADES.hidden })),
    { path: controlNodePath(directory), open: 1, mapped: 0 },
    { path: uvmNodePath(directory), open: 2, mapped: 0 },
  ];
}

/** What a forked child has of its parent's nodes: everything but the mapping of nvidia-uvm. */
export function inheritedNodes(nodes: readonly NodeUse[]): NodeUse[] {
  return nodes.map((node) => node.path.endsWith("/nvidia-uvm") ? { ...node, mapped: 0 } : node);
}

/** Opens and maps nodes, for as long as this process lives. Gives the descriptors. */
export function openNodes(nodes: readonly NodeUse[], kernel: Kernel): number[] {
  return nodes.flatMap(({ path, open, mapped }) => {
    const descriptors = Array.from({ length: open }, () => openSync(path, "r+"));
    const [first] = descriptors;
    for (let line = 0; first !== undefined && line < mapped; line++) kernel.own.mapFile(first, PAGE);
    return descriptors;
  });
}

/**
 * Maps nodes by the descriptors that a parent has passed on, `first` to `first + count - 1`, and closes what else has
 * come along: a runtime may pass copies of its own.
 */
export function adoptNodes(
  nodes: readonly NodeUse[],
  inherited: { readonly directory: string; readonly first: number; readonly count: number },
  kernel: Kernel,
): void {
  const { directory, first, count } = inherited;
  const own = new Map<string, number>();
  for (const [descriptor, target] of openFiles()) {
    if (descriptor >= first && descriptor < first + count) own.set(target, descriptor);
    else if (target.startsWith(`${directory}/`)) kernel.close(descriptor);
  }
  for (const { path, mapped } of nodes) {
    const descriptor = own.get(path);
    if (descriptor === undefined) throw new Error(`Cannot map ${path}: it was not inherited`);
    for (let line = 0; line < mapped; line++) kernel.own.mapFile(descriptor, PAGE);
  }
}

function openFiles(): [number, string][] {
  return readdirSync("/proc/self/fd").flatMap((entry): [number, string][] => {
    try {
      return [[Number(entry), readlinkSync(`/proc/self/fd/${entry}`)]];
    } catch (error) {
      // The descriptor of the listing itself is in the list.
      if (errnoOf(error) === "ENOENT") return [];
      throw error;
    }
  });
}

/** A GPU that has fallen off the bus cannot be opened. */
function workingGpus({ gpus }: SimServer) {
  return gpus.filter(({ faults }) => !faults.isLost);
}
