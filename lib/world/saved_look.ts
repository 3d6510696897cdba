/** A saved look at a machine: a snapshot of ours, or what nvidia-smi, fuser or lsof printed. */
import { attributeLists } from "../analysis/attribute_lists.ts";
import { GpuctlError, messageOf } from "../core/errors.ts";
import { type Absent, absent } from "../core/reading.ts";
import type { Snapshot } from "../model/snapshot.ts";
import { isSnapshotText, nameOfFile, readFileText, toSnapshot } from "../source/file.ts";
import { parseSavedText, type SmiReading } from "../source/smi/parse.ts";

/** What a text cannot know because it is one. */
const NOT_IN_TEXT = absent("not-reported", "a saved text does not say");

/**
 * Reads a saved look from a file, or from standard input for `-`.
 *
 * @throws {GpuctlError} if it cannot be read, or is none.
 */
export function readSavedLook(path: string): Snapshot {
  const text = readFileText(path);
  return isSnapshotText(text) ? toSnapshot(text, path) : snapshotOfText(parseText(text, path));
}

/** The snapshot that a text of nvidia-smi, fuser or lsof comes to. */
export function snapshotOfText({ report, holders, problems, takenAt }: SmiReading): Snapshot {
  return attributeLists({
    takenAt: whyNoMoment(takenAt),
    host: { name: NOT_IN_TEXT, bootId: NOT_IN_TEXT, kernel: NOT_IN_TEXT },
    report,
    listed: holders,
    why: NOT_IN_TEXT,
    problems,
  });
}

/** nvidia-smi prints the machine's own time and no zone, which is no moment that two machines could compare. */
function whyNoMoment(local: string | undefined): Absent {
  if (local === undefined) return NOT_IN_TEXT;
  return absent("not-reported", `${local.replace("T", " ")} in a time zone that the text does not name`);
}

function parseText(text: string, path: string): SmiReading {
  try {
    return parseSavedText(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GpuctlError("unavailable", messageOf(error).replace("the text", () => nameOfFile(path)), {
      cause: error,
      hint:
        "it takes gpuctl snapshots, what nvidia-smi, nvidia-smi -q and -q -x and its CSV queries print, and fuser -v and lsof on /dev/nvidia*",
    });
  }
}
