/** Which open or mapped file is a device node of the driver. Numbers decide; a path is the last resort. */
import { readdirSync, statSync } from "node:fs";
import { deviceMinor } from "../core/ids.ts";
import type { DeviceNode } from "../model/observation.ts";
import { isGone, readText } from "./files.ts";

/** Recognises the nodes of a driver, the real one or a simulated one. */
export interface DeviceRecogniser {
  /** By the device that a character node stands for, wherever it lies and whatever it is called. */
  ofDevice(major: number, minor: number): DeviceNode | undefined;
  /** By the file itself: its file system's device number as stat(2) gives it, and its inode. */
  ofFile(device: number | bigint, inode: number | bigint): DeviceNode | undefined;
  /** By its path: for a mapping whose file was removed, or lies in a container's own /dev. */
  ofPath(path: string): DeviceNode | undefined;
}

/** A file that stands for a node. */
export interface NodeFile {
  readonly device: number | bigint;
  readonly inode: number | bigint;
  readonly node: DeviceNode;
}

/** nv.h: minors of the driver's main device number. The GPUs have the ones from 0. */
const MINOR = { control: 255, modeset: 254, lastGpu: 247 } as const;
/** Names of the driver's devices in /proc/devices. Each of the first list has the minors above. */
const MAIN_NAMES = ["nvidia-frontend", "nvidia", "nvidiactl", "nvidia-modeset"];
const FURTHER_NAMES: Readonly<Record<string, (minor: number) => DeviceNode>> = {
  "nvidia-uvm": (minor) => ({ kind: minor === 0 ? "uvm" : minor === 1 ? "uvm-tools" : "other" }),
  "nvidia-caps": () => ({ kind: "capability" }),
  "nvidia-caps-imex-channels": () => ({ kind: "other" }),
  "nvidia-nvswitch": () => ({ kind: "nvswitch" }),
  "nvidia-nvlink": () => ({ kind: "other" }),
};

/** Reads what the loaded driver's nodes are. Without a driver nothing is recognised: then nobody can have one open. */
export function readDeviceRecogniser(): DeviceRecogniser {
  const devices = readText("/proc/devices");
  const majors = devices.ok ? parseDevices(devices.value) : new Map<number, string>();
  return createRecogniser(majors, majors.size > 0 ? listNodes() : []);
}

/**
 * Builds a recogniser of the driver's nodes.
 *
 * @param majors the driver's names by device number, of /proc/devices
 * @param paths files that may be nodes
 */
export function createRecogniser(
  majors: ReadonlyMap<number, string>,
  paths: readonly string[],
): DeviceRecogniser {
  const ofDevice = (major: number, minor: number) => nodeOf(majors.get(major), minor);
  const files = paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    const node = stat?.isCharacterDevice() ? ofDevice(majorOf(stat.rdev), minorOf(stat.rdev)) : undefined;
    return stat && node ? [{ device: stat.dev, inode: stat.ino, node }] : [];
  });
  return { ofDevice, ofFile: indexFiles(files), ofPath: nodeOfPath };
}

/** Parses the text of /proc/devices (proc(5)): the driver's names by the numbers of its character devices. */
export function parseDevices(text: string): ReadonlyMap<number, string> {
  const [characters = ""] = text.split("\nBlock devices:");
  const entries = Array.from(
    characters.matchAll(/^ *(\d{1,7}) (nvidia\S*)$/gm),
    ([, major, name = ""]) => [Number(major), name] as const,
  );
  // Newer drivers register the main number several times; any of its names will do.
  return new Map(
    entries.filter(([, name]) => MAIN_NAMES.includes(name) || Object.hasOwn(FURTHER_NAMES, name)),
  );
}

/** Builds a recogniser's `ofFile` from the files themselves. */
export function indexFiles(files: Iterable<NodeFile>): DeviceRecogniser["ofFile"] {
  const byInode = new Map<bigint | number, NodeFile[]>();
  for (const file of files) {
    const key = comparable(file.inode);
    byInode.set(key, [...byInode.get(key) ?? [], file]);
  }
  if (byInode.size === 0) return () => undefined;
  return (device, inode) =>
    byInode.get(comparable(inode))?.find((file) => comparable(file.device) === comparable(device))?.node;
}

/** A device number as stat(2) gives it: gnu_dev_makedev of glibc's sys/sysmacros.h, below 2^44. */
export function makeDevice(major: number, minor: number): number {
  return (minor & 0xff) + (major & 0xfff) * 0x100 + (minor >>> 8) * 0x10_0000;
}

/** The major number of a device number. */
export function majorOf(device: number): number {
  return Math.floor(device / 0x100) & 0xfff;
}

/** The minor number of a device number. */
export function minorOf(device: number): number {
  return (device & 0xff) + Math.floor(device / 0x10_0000) * 0x100;
}

/** Says which of two nodes with one `key` are the same: a GPU's has its number. */
export function nodeKey(node: DeviceNode): string {
  return node.kind === "gpu" ? `gpu${node.minor}` : node.kind;
}

function nodeOf(name: string | undefined, minor: number): DeviceNode | undefined {
  if (name === undefined) return undefined;
  if (!MAIN_NAMES.includes(name)) return FURTHER_NAMES[name]?.(minor);
  if (minor === MINOR.control) return { kind: "control" };
  if (minor === MINOR.modeset) return { kind: "modeset" };
  return minor <= MINOR.lastGpu ? { kind: "gpu", minor: deviceMinor(minor) } : { kind: "other" };
}

const PATHS: readonly (readonly [RegExp, (number: number) => DeviceNode])[] = [
  [/^\/dev\/nvidia(\d{1,3})$/, (number) => ({ kind: "gpu", minor: deviceMinor(number) })],
  [/^\/dev\/nvidiactl$/, () => ({ kind: "control" })],
  [/^\/dev\/nvidia-modeset$/, () => ({ kind: "modeset" })],
  [/^\/dev\/nvidia-uvm$/, () => ({ kind: "uvm" })],
  [/^\/dev\/nvidia-uvm-tools$/, () => ({ kind: "uvm-tools" })],
  [/^\/dev\/nvidia-caps\/nvidia-cap\d+$/, () => ({ kind: "capability" })],
  [/^\/dev\/nvidia-nvswitch(?:\d+|ctl)$/, () => ({ kind: "nvswitch" })],
];

function nodeOfPath(path: string): DeviceNode | undefined {
  for (const [pattern, make] of PATHS) {
    const found = pattern.exec(path.replace(/ \(deleted\)$/, ""));
    if (found) return make(Number(found[1]));
  }
  return undefined;
}

function listNodes(): string[] {
  const names = namesIn("/dev").filter((name) => name.startsWith("nvidia"));
  const capabilities = namesIn("/dev/nvidia-caps").map((name) => `nvidia-caps/${name}`);
  return [...names, ...capabilities].map((name) => `/dev/${name}`);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

function comparable(value: number | bigint): number | bigint {
  return typeof value === "bigint" && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
}

/** A node in a container's own /dev is another file than the host's: whoever has it open teaches us to know it mapped. */
export function learnFiles(recogniser: DeviceRecogniser, files: readonly NodeFile[]): DeviceRecogniser {
  const ofLearned = indexFiles(files);
  return {
    ...recogniser,
    ofFile: (device, inode) => recogniser.ofFile(device, inode) ?? ofLearned(device, inode),
  };
}
