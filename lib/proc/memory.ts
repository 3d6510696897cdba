/**
 * What is read from a process's memory: arguments, environment, mappings. The kernel takes the memory's lock for that. A
 * thread that is stuck in the driver may hold it, and then the reader would be stuck as well, as ps(1) is.
 */
import { readFile } from "node:fs";
import { type Absent, absent, known, mapReading, type Reading } from "../core/reading.ts";
import type { Environment } from "../model/process.ts";
import { parseCmdline } from "./cmdline.ts";
import type { DeviceRecogniser } from "./devices.ts";
import { parseEnviron } from "./environ.ts";
import { absentFor, readText } from "./files.ts";
import { type NodeMappings, parseNodeMappings } from "./maps.ts";

export interface ProcessMemory {
  readonly argv: Reading<readonly string[]>;
  readonly environment: Reading<Environment>;
  readonly mappings: Reading<readonly NodeMappings[]>;
}

type File = "cmdline" | "environ" | "maps";
type Texts = Readonly<Record<File, Reading<string>>>;
const NOT_ASKED = absent("not-asked");

/**
 * Reads the memory's files of a process with no thread in state D: who holds the lock will give it back.
 *
 * @param recogniser whose nodes are looked for among the mappings; without one these are not read.
 */
export function readMemory(directory: string, recogniser: DeviceRecogniser | undefined): ProcessMemory {
  const texts = {
    cmdline: readText(`${directory}/cmdline`),
    environ: readText(`${directory}/environ`),
    maps: recogniser ? readText(`${directory}/maps`) : NOT_ASKED,
  };
  return parseMemory(texts, recogniser);
}

/**
 * Reads the memory's files on another thread of this program, and goes on without them once `late` settles. The thread
 * that waits then ends with the program, not before.
 */
export async function readMemoryOfWaiting(
  directory: string,
  recogniser: DeviceRecogniser | undefined,
  late: Promise<unknown>,
): Promise<ProcessMemory> {
  // One after the other: if one does not come back the next would not either, and would cost a thread as well.
  let stuck: Absent | undefined;
  const read = async (file: File) => {
    if (stuck) return stuck;
    const text = await readInTime(`${directory}/${file}`, late);
    if (!text.ok && text.why === "timed-out") stuck = text;
    return text;
  };
  const texts = {
    cmdline: await read("cmdline"),
    environ: await read("environ"),
    maps: recogniser ? await read("maps") : NOT_ASKED,
  };
  return parseMemory(texts, recogniser);
}

/** Reads the mappings alone, in the same way. */
export async function readMappingsOfWaiting(
  directory: string,
  recogniser: DeviceRecogniser,
  late: Promise<unknown>,
): Promise<ProcessMemory["mappings"]> {
  const text = await readInTime(`${directory}/maps`, late);
  return mapReading(text, (maps) => parseNodeMappings(maps, recogniser));
}

function parseMemory(
  { cmdline, environ, maps }: Texts,
  recogniser: DeviceRecogniser | undefined,
): ProcessMemory {
  return {
    argv: cmdline.ok ? parseCmdline(cmdline.value) : cmdline,
    environment: environ.ok ? parseEnviron(environ.value) : environ,
    mappings: recogniser ? mapReading(maps, (text) => parseNodeMappings(text, recogniser)) : NOT_ASKED,
  };
}

function readInTime(path: string, late: Promise<unknown>): Promise<Reading<string>> {
  const read = new Promise<Reading<string>>((resolve) => {
    readFile(path, "utf8", (error, text) => resolve(error ? absentFor(error) : known(text)));
  });
  const tooLate = late.then(() =>
    absent("timed-out", `${path}: its memory is locked by a thread that waits`)
  );
  return Promise.race([read, tooLate]);
}
