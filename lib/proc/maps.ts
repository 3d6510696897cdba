/** How often a process has each device node mapped: what tells a client of the driver from a mere monitor. */
import type { DeviceNode } from "../model/observation.ts";
import { type DeviceRecogniser, makeDevice, nodeKey } from "./devices.ts";

/** Lines of one process's mappings that are of one node. */
export interface NodeMappings {
  readonly node: DeviceNode;
  readonly lines: number;
}

/** A line of proc_pid_maps(5): range, rights, offset, the file system's device, inode, path. */
const LINE = /^[0-9a-f]+-[0-9a-f]+ \S+ [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) (\d+)(?: +(.*))?$/;
/** The same, of a mapping without a file. Most lines are; these are passed over without a closer look. */
const WITHOUT_FILE = /^\S+ \S+ \S+ 00:00 0(?: |$)/;

/**
 * Parses the text of /proc/PID/maps and counts the lines of each node. The kernel escapes newlines in paths.
 *
 * @throws {SyntaxError} if a line is not a mapping.
 */
export function parseNodeMappings(
  text: string,
  recogniser: Pick<DeviceRecogniser, "ofFile" | "ofPath">,
): readonly NodeMappings[] {
  const counted = new Map<string, { node: DeviceNode; lines: number }>();
  for (const mapping of eachMapping(text)) {
    const node = recogniser.ofFile(mapping.device, mapping.inode) ?? recogniser.ofPath(mapping.path);
    if (node === undefined) continue;
    const key = nodeKey(node);
    const known = counted.get(key);
    if (known) known.lines++;
    else counted.set(key, { node, lines: 1 });
  }
  return [...counted.values()];
}

/**
 * Parses the text of /proc/PID/maps and gives the path of each file once.
 *
 * @throws {SyntaxError} if a line is not a mapping.
 */
export function parseMappedFiles(text: string): readonly string[] {
  return [...new Set(Array.from(eachMapping(text), ({ path }) => path))];
}

interface FileMapping {
  readonly device: number;
  readonly inode: number | bigint;
  readonly path: string;
}

function* eachMapping(text: string): Generator<FileMapping> {
  for (const line of text.split("\n")) {
    if (line === "" || WITHOUT_FILE.test(line)) continue;
    const [, major, minor, inode, path = ""] = LINE.exec(line) ?? [];
    if (major === undefined || minor === undefined || inode === undefined) {
      throw new SyntaxError(`Cannot parse "${line}": expected a mapping as in proc_pid_maps(5)`);
    }
    yield {
      device: makeDevice(parseInt(major, 16), parseInt(minor, 16)),
      inode: inode.length < 16 ? Number(inode) : BigInt(inode),
      path,
    };
  }
}
