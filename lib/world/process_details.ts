import { parseCmdline } from "../proc/cmdline.ts";
import { readOwner } from "../proc/cgroup.ts";
import { parseEnviron } from "../proc/environ.ts";
import { readText } from "../proc/files.ts";
import { parseMappedFiles } from "../proc/maps.ts";
import type { Pid } from "../core/ids.ts";
import { absent, mapReading } from "../core/reading.ts";
import type { ProcessDetails, ProcessOrigins } from "./ports.ts";

/** What /proc says of one process. */
export const realDetails: ProcessDetails = {
  readArguments(pid) {
    const text = readText(`/proc/${pid}/cmdline`);
    return text.ok ? parseCmdline(text.value) : text;
  },
  readMappedFiles: (pid) => mapReading(readText(`/proc/${pid}/maps`), parseMappedFiles),
};

/** What /proc says of how one process came to be. */
export const realOrigins: ProcessOrigins = {
  readEnvironment(pid) {
    const text = readText(`/proc/${pid}/environ`);
    if (!text.ok) return text;
    // Of a process whose memory is gone the kernel gives nothing, as if it had been started with no variable at all.
    if (text.value === "" && !hasMemory(pid)) return absent("exited");
    return parseEnviron(text.value);
  },
  readOwner: (pid) => readOwner(`/proc/${pid}`),
};

function hasMemory(pid: Pid): boolean {
  const maps = readText(`/proc/${pid}/maps`);
  return maps.ok && maps.value !== "";
}
