import { parseCmdline } from "../proc/cmdline.ts";
import { readText } from "../proc/files.ts";
import { parseMappedFiles } from "../proc/maps.ts";
import { mapReading } from "../core/reading.ts";
import type { ProcessDetails } from "./ports.ts";

/** What /proc says of one process. */
export const realDetails: ProcessDetails = {
  readArguments(pid) {
    const text = readText(`/proc/${pid}/cmdline`);
    return text.ok ? parseCmdline(text.value) : text;
  },
  readMappedFiles: (pid) => mapReading(readText(`/proc/${pid}/maps`), parseMappedFiles),
};
