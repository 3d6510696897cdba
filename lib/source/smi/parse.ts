/** Saved output of nvidia-smi, of any kind and age, as the model has it. Pure: text in, readings out. */
import { gpuIndex } from "../../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import { contextsOf, type DriverReport, type Gpu, type ProcessList } from "../../model/gpu.ts";
import type { ListedHolder } from "../../model/listed_holder.ts";
import type { Problem } from "../../model/snapshot.ts";
import { cleanText, MOST_CHARACTERS } from "./clean.ts";
import { joinParts } from "./join.ts";
import { findParts } from "./parts.ts";
import type { ProblemLog } from "./problem_log.ts";
import { emptyGpu, emptyPart, type RawPart, SMI_TEXT_KINDS, type SmiTextKind } from "./raw.ts";
import type { Refusal } from "./refusals.ts";
import { reportOf } from "./report.ts";
import { isRecording, replayRecording } from "./screen.ts";
import { isCutName } from "./values.ts";

/** What a text says. */
export interface SmiReading {
  /** The fullest kind of output in it. */
  readonly kind: SmiTextKind;
  /** Absent where nvidia-smi refused, or where the text is about processes only. */
  readonly report: Reading<DriverReport>;
  readonly problems: readonly Problem[];
  /** In ISO 8601 and the machine's own time: nvidia-smi prints no zone, so there is none. */
  readonly takenAt?: string;
  /** What it says of processes as a whole; the worst of its lists. An empty panel without a GPU shows only here. */
  readonly listing: ProcessList["state"];
  /** Processes with the device open or mapped, of a fuser or lsof listing in the text. */
  readonly holders?: readonly ListedHolder[];
  /** Sentences with which nvidia-smi refused, as far as they are known. */
  readonly refusals: readonly Refusal[];
}

/** The fullest kind of output that a text holds; `undefined` if it holds none. Does not read XML to its end. */
export function recogniseText(text: string): SmiTextKind | undefined {
  const kinds = new Set(
    findParts(cleanText(text), (_, line) => emptyPart("query-xml", line)).map(({ kind }) => kind),
  );
  return SMI_TEXT_KINDS.find((kind) => kinds.has(kind));
}

const RECORDED: Problem = {
  subject: "text",
  reason: absent("not-reported", "a recording of a screen"),
  message: "The text is a recording of a screen: what was drawn over is not in it",
};

/**
 * Reads a saved text as `parseSmiText` does, and a recording of a screen as what the screen showed at last. Only a text that
 * a person has saved may be one: in what nvidia-smi itself prints, movements of the cursor are names of processes, which
 * must not be able to draw over others.
 *
 * @throws {SyntaxError} as `parseSmiText` does, and if the recording scrolls.
 */
export function parseSavedText(text: string): SmiReading {
  if (text.length > MOST_CHARACTERS) return parseSmiText(text);
  const plain = text.replaceAll("\x9b", "\x1b[");
  if (!isRecording(plain)) return parseSmiText(plain);
  const reading = parseSmiText(replayRecording(plain));
  return { ...reading, problems: [...reading.problems, RECORDED] };
}

/**
 * Reads a text with output of nvidia-smi, fuser or lsof in it. What stands around the output is passed over; what is part
 * of it and cannot be read is a problem with its line.
 *
 * GPUs without a UUID in the text get a stand-in (`standInUuid`); `findSameGpu` compares two texts by the best key.
 *
 * @throws {SyntaxError} if it holds no such output, is too large, or its XML is cut off or broken.
 */
export function parseSmiText(text: string): SmiReading {
  const [first, ...others] = findParts(cleanText(text));
  if (!first) {
    throw new SyntaxError(
      "Cannot read the text as output of nvidia-smi: it holds no table, CSV with a header, -q, -q -x, -L, pmon or dmon, nor a list of fuser -v or lsof",
    );
  }
  const { whole, refusals } = joinParts([first, ...others]);
  const { kind, takenAt, holders } = whole;
  const report = readReport(withUnnamedGpu(whole), refusals);
  return {
    kind,
    report,
    problems: whole.problems.list(),
    listing: listingOf(report, whole),
    refusals,
    ...(takenAt === undefined ? {} : { takenAt }),
    ...(holders === undefined ? {} : { holders }),
  };
}

/** Process rows that name no GPU are rows of some GPU: one that has nothing else. */
function withUnnamedGpu(whole: RawPart): RawPart {
  const { gpus, loose } = whole;
  if (gpus.length > 0 || !loose || loose.rows.length + loose.hidden === 0) return whole;
  return { ...whole, gpus: [{ ...emptyGpu(whole.line), listing: loose }] };
}

function readReport(whole: RawPart, refusals: readonly Refusal[]): Reading<DriverReport> {
  const { problems } = whole;
  for (const { text, why, meaning, hint, gpu } of refusals) {
    const subject = gpu?.index !== undefined || gpu?.busId !== undefined
      ? `GPU ${gpu.index ?? gpu.busId}`
      : "nvidia-smi";
    problems.add(subject, absent(why, text), `${meaning}. ${hint}`);
  }
  if (whole.kind === "fuser" || whole.kind === "lsof") {
    return absent("not-reported", `${whole.kind} lists who has the device open, not what the driver says`);
  }
  const [refusal] = refusals;
  if (refusal && whole.kind === "refusal") return absent(refusal.why, refusal.text);
  const report = reportOf(whole);
  noteCutNames(report.gpus, problems);
  if (report.gpus.length === 0) {
    problems.add("GPUs", absent("not-reported"), "The text names no GPU");
  }
  return known({ ...report, unreadableGpus: refusals.flatMap((each) => unreadableGpu(each, report.gpus)) });
}

function unreadableGpu(
  { id, gpu, why, text }: Refusal,
  readable: readonly Gpu[],
): DriverReport["unreadableGpus"] {
  const number = Number(gpu?.index);
  if (id !== "gpu-unreachable" || !(number <= 65_535)) return [];
  const index = gpuIndex(number);
  const reason: Absent = absent(why, text);
  return readable.some((each) => each.index === index) ? [] : [{ index, reason }];
}

function listingOf(report: Reading<DriverReport>, { loose }: RawPart): SmiReading["listing"] {
  if (!report.ok) return "unknown";
  const states = new Set(report.value.gpus.map(({ processList }) => processList.state));
  if (states.size > 0) {
    return states.has("unknown") ? "unknown" : states.has("incomplete") ? "incomplete" : "known";
  }
  // A panel that says in words that there is none leaves out those that nvidia-smi cannot name.
  return !loose || loose.coverage === "unread" ? "unknown" : "incomplete";
}

function noteCutNames(gpus: readonly Gpu[], problems: ProblemLog): void {
  const names = gpus.flatMap(({ name, processList }) => [
    ...(name.ok ? [name.value] : []),
    ...contextsOf(processList).flatMap((context) => context.name ?? []),
  ]);
  const cut = names.filter(isCutName).length;
  if (cut === 0) return;
  const message = `${
    plural(cut, "name is", "names are")
  } cut by the table (...): such a name matches no other`;
  problems.add("names", absent("not-reported"), message);
}
