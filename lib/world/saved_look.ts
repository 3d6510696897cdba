/** A saved look at a machine: a snapshot of ours, or what nvidia-smi printed. */
import { attribute } from "../analysis/attribute.ts";
import { GpuctlError, messageOf } from "../core/errors.ts";
import { absent } from "../core/reading.ts";
import { clockTicks } from "../core/units.ts";
import type { Snapshot } from "../model/snapshot.ts";
import { isSnapshotText, readFileText, toSnapshot } from "../source/file.ts";
import { parseSmiText, type SmiReading } from "../source/smi/parse.ts";

/** What a text cannot know because it is one. */
const NOT_IN_TEXT = absent("not-reported", "a saved text does not say");

/**
 * Reads a saved look from a file, or from standard input for `-`.
 *
 * @throws {GpuctlError} if it cannot be read, or is none.
 */
export function readSavedLook(path: string): Snapshot {
  const text = readFileText(path);
  if (isSnapshotText(text)) return toSnapshot(text, path);
  return toLook(parseText(text, path));
}

function parseText(text: string, path: string): SmiReading {
  try {
    return parseSmiText(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const name = path === "-" ? "standard input" : path;
    throw new GpuctlError("unavailable", `Cannot read ${name}: ${messageOf(error)}`, {
      cause: error,
      hint:
        "it takes gpuctl snapshots, and what nvidia-smi, nvidia-smi -q and -q -x, and its CSV queries print",
    });
  }
}

function toLook({ report, problems, takenAt }: SmiReading): Snapshot {
  return attribute({
    takenAt: takenAt ?? "",
    ticks: clockTicks(0),
    source: "file",
    simulated: false,
    host: { name: NOT_IN_TEXT, bootId: NOT_IN_TEXT, kernel: NOT_IN_TEXT },
    report,
    scan: NOT_IN_TEXT,
    problems,
  });
}
