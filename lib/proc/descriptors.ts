/** Who has a device node of the driver open: a look at every descriptor of every process. */
import { readdirSync, readlinkSync } from "node:fs";
import type { Pid } from "../core/ids.ts";
import { absent } from "../core/reading.ts";
import type { Milliseconds } from "../core/units.ts";
import type { DeviceNode, ScanCoverage } from "../model/observation.ts";
import type { DescriptorReader, DescriptorTable } from "../native/descriptor_reader.ts";
import type { OpenFile } from "../native/open_file.ts";
import type { Clock } from "../world/ports.ts";
import { type DeviceRecogniser, makeDevice, type NodeFile, nodeKey } from "./devices.ts";
import { isDenied, isGone, listPids } from "./files.ts";
import { findStat } from "./stat.ts";

/** One node and the numbers of the descriptors that lead to it. */
export interface HeldNode {
  readonly node: DeviceNode;
  readonly descriptors: readonly number[];
}

/** What one process has open of the driver. */
export interface HeldNodes {
  /** The thread whose table was read: the process's own id, unless its main thread has ended. */
  readonly task: number;
  readonly nodes: readonly HeldNode[];
}

export interface DescriptorScan {
  /** Only processes that have a node open. */
  readonly held: ReadonlyMap<Pid, HeldNodes>;
  /** The nodes' files as processes have them open: in a container they are others than the host's. */
  readonly files: readonly NodeFile[];
  readonly coverage: Omit<ScanCoverage, "ownUnreadable">;
  /** Processes whose descriptors may not be listed. */
  readonly refused: readonly Pid[];
}

export interface DescriptorScanOptions {
  readonly reader: DescriptorReader;
  readonly recogniser: DeviceRecogniser;
  readonly clock: Pick<Clock, "monotonic">;
  readonly deadline: Milliseconds;
  /** Where the reader's /proc is mounted. */
  readonly procRoot: string;
}

/** Looks at the descriptors of all processes, until the deadline. Takes one system call a descriptor. */
export function scanDescriptors(options: DescriptorScanOptions): DescriptorScan {
  const { clock, deadline, procRoot } = options;
  const files = new Map<string, NodeFile>();
  const held = new Map<Pid, HeldNodes>();
  const pids = listPids(procRoot);
  let processes = 0;
  const refused: Pid[] = [];
  let cutShort: ScanCoverage["cutShort"];
  for (const [place, pid] of pids.entries()) {
    if (clock.monotonic() > deadline) {
      cutShort = absent("timed-out", `${place} of ${pids.length} processes were looked at`);
      break;
    }
    const found = readHeldNodes(pid, options, files);
    if (found === "gone") continue;
    processes++;
    if (found === "unreadable") refused.push(pid);
    else if (found.nodes.length > 0) held.set(pid, found);
  }
  const coverage = { processes, unreadable: refused.length, ...cutShort && { cutShort } };
  return { held, files: [...files.values()], coverage, refused };
}

/**
 * Reads what one process has open; its main thread's table stands for all threads unless it is empty.
 *
 * @param files is given the nodes' files that it has open.
 */
export function readHeldNodes(
  pid: Pid,
  { reader, recogniser, procRoot }: Pick<DescriptorScanOptions, "reader" | "recogniser" | "procRoot">,
  files: Map<string, NodeFile>,
): HeldNodes | "gone" | "unreadable" {
  const recognise = (file: OpenFile) => recogniseFile(file, recogniser, files);
  const read = (directory: string) => reader.read(`${directory}/fd`, recognise);
  const table = read(String(pid));
  if (table === undefined) return explainClosedTable(pid, procRoot);
  if (table.refused !== undefined && isDeniedLink(`${procRoot}/${pid}/fd/${table.refused}`)) {
    return "unreadable";
  }
  if (table.count > 0) return { task: pid, nodes: groupByNode(table) };
  // A main thread that has ended has no table while the others live on with everything (proc_pid_task(5)).
  if (reader.countThreads(`${pid}/task`) < 2) return { task: pid, nodes: [] };
  for (const task of tasksOf(`${procRoot}/${pid}`)) {
    const ofTask = read(`${pid}/task/${task}`);
    if (ofTask && ofTask.count > 0) return { task, nodes: groupByNode(ofTask) };
  }
  return { task: pid, nodes: [] };
}

function recogniseFile(
  file: OpenFile,
  recogniser: DeviceRecogniser,
  files: Map<string, NodeFile>,
): DeviceNode | undefined {
  if (file.kind === "other") return undefined;
  const device = makeDevice(file.deviceMajor, file.deviceMinor);
  if (file.kind === "regular") return recogniser.ofFile(device, file.inode);
  const node = recogniser.ofDevice(file.nodeMajor, file.nodeMinor);
  if (node) files.set(`${device}:${file.inode}`, { device, inode: file.inode, node });
  return node;
}

/** Looks again at a table that the fast reader could not open, this time for the reason. */
function explainClosedTable(pid: Pid, procRoot: string): HeldNodes | "gone" | "unreadable" {
  const directory = `${procRoot}/${pid}`;
  try {
    readdirSync(`${directory}/fd`);
  } catch (error) {
    if (isGone(error)) return "gone";
  }
  return holdsNothing(directory) ? { task: pid, nodes: [] } : "unreadable";
}

/**
 * Looks again at a descriptor whose file the kernel told nothing of. One that was closed meanwhile, or whose file system
 * does not answer, keeps no node from us; where even the link may not be read none of the others may.
 */
function isDeniedLink(link: string): boolean {
  try {
    readlinkSync(link);
    return false;
  } catch (error) {
    if (isGone(error) || isDenied(error)) return isDenied(error);
    throw error;
  }
}

/** Says whether there is nothing to be kept from us: a kernel thread and a zombie have no descriptors. */
function holdsNothing(directory: string): boolean {
  try {
    const stat = findStat(directory);
    return stat === undefined || stat.isKernelThread || (stat.state === "Z" && stat.threads <= 1);
  } catch (error) {
    if (isDenied(error)) return false; // Not even this may be read (hidepid), so nothing is known of it.
    throw error;
  }
}

function groupByNode({ found }: DescriptorTable<DeviceNode>): HeldNode[] {
  const groups = new Map<string, { node: DeviceNode; descriptors: number[] }>();
  for (const { descriptor, what: node } of found) {
    const key = nodeKey(node);
    const group = groups.get(key) ?? { node, descriptors: [] };
    group.descriptors.push(descriptor);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function tasksOf(directory: string): number[] {
  try {
    return readdirSync(`${directory}/task`).map(Number);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}
