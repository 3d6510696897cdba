/** Joins the outputs of one text into what the text says as a whole, by the best key that two GPUs share. */
import { absent, valueOf } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import type { ProblemLog } from "./problem_log.ts";
import {
  emptyListing,
  emptyPart,
  type RawGpu,
  type RawListing,
  type RawPart,
  SMI_TEXT_KINDS,
} from "./raw.ts";
import type { Refusal } from "./refusals.ts";
import { excerpt, findAbsence, findBusId, memoryOf } from "./values.ts";

const MIB = 1024 ** 2;

/** More than any machine has. */
const MOST_GPUS = 1024;

/** Process rows of a text. 16 GPUs with the 950 processes that a driver lists of each have half as many. */
const MOST_PROCESSES = 32_768;

/** A log of failed looks repeats them for ever. */
const MOST_REFUSALS = 64;

/** What a text says as a whole: one part, and the refusals in it. */
export interface RawText {
  readonly whole: RawPart;
  readonly refusals: readonly Refusal[];
}

/**
 * Joins parts. Of several of one kind the last counts; where two kinds give a value, the fuller kind's stands.
 *
 * @throws {SyntaxError} if the text names more GPUs or processes than a machine can have.
 */
export function joinParts(parts: readonly [RawPart, ...RawPart[]]): RawText {
  // Each of several outputs says it again.
  const refusals = [
    ...new Map(parts.flatMap(({ refusal }) => refusal === undefined ? [] : [[refusal.text, refusal]]))
      .values(),
  ].slice(0, MOST_REFUSALS);
  const chosen = SMI_TEXT_KINDS.flatMap((kind) => {
    const last = parts.findLast((part) => part.kind === kind);
    return last === undefined ? [] : [last];
  });
  const [first = parts[0], ...others] = chosen;
  const whole = { ...emptyPart(first.kind, first.line), gpus: [...first.gpus], loose: first.loose };
  for (const part of chosen) {
    const count = parts.filter(({ kind }) => kind === part.kind).length;
    if (count > 1 && part.kind !== "refusal") {
      const message = `The text holds ${count} outputs of one kind; the last one, from line ${
        part.line + 1
      }, was read`;
      whole.problems.add("text", absent("not-reported", part.kind), message);
    }
    whole.problems.addAll(part.problems);
    joinMachine(whole, part);
    whole.takenAt ??= part.takenAt;
    if (part.holders) whole.holders = [...whole.holders ?? [], ...part.holders];
  }
  for (const part of others) addGpus(whole, part);
  spreadLooseListing(whole);
  if (whole.gpus.length > MOST_GPUS) {
    throw new SyntaxError(
      `Cannot read the text as output of nvidia-smi as a machine has at most ${MOST_GPUS} GPUs: it names ${whole.gpus.length}`,
    );
  }
  const processes = countProcesses(whole);
  if (processes > MOST_PROCESSES) {
    throw new SyntaxError(
      `Cannot read the text as output of nvidia-smi as a machine has at most ${MOST_PROCESSES} processes on its GPUs: it names ${processes}`,
    );
  }
  return { whole, refusals };
}

function joinMachine(whole: RawPart, { machine }: RawPart): void {
  for (const [name, value] of machine) {
    const before = whole.machine.get(name);
    if (before === undefined) whole.machine.set(name, value);
    else if (name === "driver_version" && before !== value && !findAbsence(before) && !findAbsence(value)) {
      noteDifference(whole.problems, "the driver's version", [before, value]);
    }
  }
}

function countProcesses({ gpus, loose, holders = [] }: RawPart): number {
  const listings = [loose, ...gpus.map(({ listing }) => listing)];
  return listings.reduce((sum, listing) => sum + (listing?.rows.length ?? 0), holders.length);
}

function addGpus(whole: RawPart, part: RawPart): void {
  if (part.gpus.length > MOST_GPUS) whole.gpus.push(...part.gpus.slice(0, MOST_GPUS + 1));
  if (whole.gpus.length > MOST_GPUS) return;
  const before = [...whole.gpus];
  for (const gpu of part.gpus) {
    const place = before.findIndex((each) => compareGpus(each, gpu) === "same");
    const same = before[place];
    if (same) whole.gpus[place] = joinGpus(same, gpu, whole.problems);
    else if (before.every((each) => compareGpus(each, gpu) === "different")) whole.gpus.push(gpu);
    else leaveOut(whole, before.length, gpu.listing, describe(gpu));
  }
  if (part.kind === "compute-apps-csv") {
    // It speaks of every GPU: one without a row has no compute process.
    for (const [place, gpu] of whole.gpus.entries()) {
      whole.gpus[place] = { ...gpu, listing: gpu.listing ?? emptyListing("compute") };
    }
  }
  if (part.loose && whole.gpus.length > 0) {
    leaveOut(whole, before.length, part.loose, "a GPU that it does not name");
  } else whole.loose ??= part.loose;
}

/** Rows that belong to one of the GPUs of the text, and nothing says to which. No list is complete then. */
function leaveOut(whole: RawPart, count: number, listing: RawListing | undefined, on: string): void {
  if (!listing) return;
  const missing = listing.rows.length + listing.hidden + listing.unreadable;
  if (missing === 0) return;
  for (const [place, gpu] of whole.gpus.entries()) {
    if (place >= count) break;
    const before = gpu.listing;
    if (before) whole.gpus[place] = { ...gpu, listing: { ...before, hidden: before.hidden + missing } };
  }
  whole.problems.add(
    "processes",
    absent("not-reported", processesOnlyIn(listing, undefined).join(", ")),
    `${
      plural(missing, "process", "processes")
    } on ${on} cannot be put to a GPU: the outputs in the text name their GPUs by different keys`,
  );
}

/** What a process panel says without a row it says of every GPU, also of those that only another output shows. */
function spreadLooseListing(whole: RawPart): void {
  const { loose } = whole;
  if (!loose || whole.gpus.length === 0 || loose.rows.length + loose.hidden > 0) return;
  for (const [place, gpu] of whole.gpus.entries()) {
    whole.gpus[place] = { ...gpu, listing: gpu.listing ?? { ...loose, rows: [] } };
  }
}

function describe({ fields }: RawGpu): string {
  const key = fields.get("uuid") ?? fields.get("pci.bus_id");
  return key === undefined ? `GPU ${fields.get("index") ?? "without a name"}` : excerpt(key);
}

/** By UUID, PCI address and index: one that differs tells two apart, one that is equal makes them one. */
function compareGpus(a: RawGpu, b: RawGpu): "same" | "different" | "unknown" {
  const pairs = (["uuid", "pci.bus_id", "index"] as const).map((name) => [keyOf(a, name), keyOf(b, name)]);
  const comparable = pairs.filter(([one, other]) => one !== undefined && other !== undefined);
  if (comparable.length === 0) return "unknown";
  return comparable.every(([one, other]) => one === other) ? "same" : "different";
}

function keyOf({ fields }: RawGpu, name: "uuid" | "pci.bus_id" | "index"): string | undefined {
  const value = fields.get(name)?.trim();
  if (value === undefined || findAbsence(value)) return undefined;
  if (name === "pci.bus_id") return findBusId(value);
  return name === "index" ? String(Number(value)) : value.toLowerCase();
}

function joinGpus(a: RawGpu, b: RawGpu, problems: ProblemLog): RawGpu {
  const fields = new Map(a.fields);
  for (const [name, value] of b.fields) {
    const before = fields.get(name);
    const why = before === undefined ? "not-reported" : findAbsence(before)?.why;
    // Any other absence (lost, needs a reset, denied) is an answer, and none that another output takes back.
    if (why === "not-reported" || why === "not-supported") fields.set(name, value);
  }
  const [used, other] = [a, b].map((each) => valueOf(memoryOf(each.fields.get("memory.used"))));
  if (used !== undefined && other !== undefined && used !== other) {
    noteDifference(problems, `memory in use of ${describe(a)}`, [`${used / MIB} MiB`, `${other / MIB} MiB`]);
  }
  const listing = joinListings(a.listing, b.listing);
  const lost = processesOnlyIn(b.listing, listing);
  if (listing === undefined || lost.length === 0) {
    return { line: a.line, fields, mig: joinMig(a, b), listing };
  }
  noteDifference(problems, `the processes of ${describe(a)}`, ["no such row", lost.join(", ")]);
  return {
    line: a.line,
    fields,
    mig: joinMig(a, b),
    listing: { ...listing, elsewhere: (listing.elsewhere ?? 0) + lost.length },
  };
}

/** Two outputs that contradict each other are not of one look, and may not even be of one machine. */
function noteDifference(problems: ProblemLog, what: string, [one, other]: readonly [string, string]): void {
  const words = `${excerpt(one)} in one, ${excerpt(other)} in another`;
  problems.add(
    "text",
    absent("implausible", words),
    `The outputs in the text differ about ${what}: they are of several moments, or of several machines`,
  );
}

/** Processes of a list that the whole list lacks: those with the same pid are the same. */
function processesOnlyIn(listing: RawListing | undefined, whole: RawListing | undefined): string[] {
  const seen = new Set(whole?.rows.map(({ pid }) => pid));
  const rows = listing?.rows.filter(({ pid }) => !seen.has(pid)) ?? [];
  return rows.map(({ pid, memory }) => `${excerpt(pid)} (${excerpt(memory ?? "memory unknown")})`);
}

/** The list (`-L`) knows the names of MIG devices, the other outputs their instances; both number them. */
function joinMig({ mig: a }: RawGpu, { mig: b }: RawGpu): RawGpu["mig"] {
  if (!a?.length || !b?.length) return a?.length ? a : b ?? a;
  return a.map((device) => {
    const other = b.find((each) => each.device !== undefined && each.device === device.device);
    if (!other) return device;
    return {
      device: device.device,
      gpuInstance: device.gpuInstance ?? other.gpuInstance,
      computeInstance: device.computeInstance ?? other.computeInstance,
      fields: new Map([...other.fields, ...device.fields]),
    };
  });
}

function joinListings(a: RawListing | undefined, b: RawListing | undefined): RawListing | undefined {
  if (!a || !b) return a ?? b;
  if (a.coverage === "all" || b.coverage === "unread") return a;
  if (b.coverage === "all" || a.coverage === "unread") return b;
  const seen = new Set(a.rows.map(({ pid }) => pid));
  const rows = [...a.rows, ...b.rows.filter(({ pid }) => !seen.has(pid))];
  return {
    ...a,
    rows,
    // Words that there is no process count for nothing beside a process.
    saysNone: (a.saysNone || b.saysNone) && rows.length === 0,
    hidden: a.hidden + b.hidden,
    unreadable: a.unreadable + b.unreadable,
  };
}
