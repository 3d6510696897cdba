/** One look at every process's descriptors and nothing else, in two ways: `numbers`, the product's, or `links`. */
import { readdirSync, readlinkSync } from "node:fs";
import process from "node:process";
import { milliseconds } from "../../lib/core/units.ts";
import { openDescriptorReader } from "../../lib/native/descriptor_reader.ts";
import { openLibc } from "../../lib/native/libc.ts";
import { scanDescriptors } from "../../lib/proc/descriptors.ts";
import { say } from "../say.ts";

/** A node that every machine has and hardly anybody opens: the look has to be at everything, and finds little. */
const NODE = { path: "/dev/full", major: 1, minor: 7 } as const;

/** How many processes have the node open, by what statx(2) says each open file is. */
async function scanNumbers(): Promise<number> {
  const isNode = (major: number, minor: number) => major === NODE.major && minor === NODE.minor;
  const recogniser = {
    ofDevice: (major: number, minor: number) => isNode(major, minor) ? { kind: "other" as const } : undefined,
    ofFile: () => undefined,
    ofPath: () => undefined,
  };
  using libc = await openLibc();
  using reader = openDescriptorReader(libc, "/proc");
  const clock = { monotonic: () => milliseconds(performance.now()) };
  const deadline = milliseconds(Number.MAX_SAFE_INTEGER);
  return scanDescriptors({ reader, recogniser, clock, deadline, procRoot: "/proc" }).held.size;
}

/** The same by the names that links lead to, as it is written first. */
function scanLinks(): number {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name))
    .filter((pid) => listOf(pid).filter((name) => leadsThere(`/proc/${pid}/fd/${name}`)).length > 0).length;
}

function listOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return []; // Gone meanwhile, or not ours to see.
  }
}

function leadsThere(link: string): boolean {
  try {
    return readlinkSync(link) === NODE.path;
  } catch {
    return false; // Closed meanwhile.
  }
}

say(String(process.argv[2] === "links" ? scanLinks() : await scanNumbers()));
