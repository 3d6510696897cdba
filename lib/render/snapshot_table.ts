/** A snapshot for whoever is on call: the GPUs, who holds them, what the dead still have, what was not seen, the answer. */
import { nameIndexes } from "../core/ranges.ts";
import { formatAbsent } from "../core/reading.ts";
import { printable } from "../core/text.ts";
import type { Problem, Snapshot, SourceName } from "../model/snapshot.ts";
import { COLOUR, PLAIN } from "./colour.ts";
import { wrap } from "./layout.ts";
import { formatProblem } from "./problem_text.ts";
import { SIMULATED } from "./simulated.ts";
import { ghostLines } from "./snapshot_ghosts.ts";
import { gpuLines } from "./snapshot_gpus.ts";
import { holderBlocks } from "./snapshot_holders.ts";
import { summaryLines } from "./snapshot_summary.ts";
import type { TableOptions } from "./table.ts";

/** The terminal that a text is for. */
export interface Screen {
  readonly columns: number;
  readonly hasColour: boolean;
}

/** Writes a snapshot as text. Without a screen nothing is cut, wrapped or coloured. */
export function renderSnapshotTable(snapshot: Snapshot, screen?: Screen): string {
  return layOut(snapshot, screen, { isBrief: false });
}

/** The same for a screen that is small and drawn again and again: a line for each holder, and last what was not seen. */
export function renderBriefSnapshot(snapshot: Snapshot, screen?: Screen): string {
  return layOut(snapshot, screen, { isBrief: true });
}

function layOut(
  snapshot: Snapshot,
  screen: Screen | undefined,
  { isBrief }: { readonly isBrief: boolean },
): string {
  const options = { width: screen?.columns, paint: screen?.hasColour ? COLOUR : PLAIN };
  const problems = problemLines(snapshot.problems, options);
  const summary = summaryLines(snapshot, options);
  const blocks = [
    headLines(snapshot, options),
    gpuLines(snapshot, options),
    ...holderBlocks(snapshot, { ...options, isBrief }),
    ghostLines(snapshot, options),
    ...isBrief ? [summary, problems] : [problems, summary],
  ];
  return blocks.filter(({ length }) => length > 0).map((lines) => lines.map((line) => `${line}\n`).join(""))
    .join("\n");
}

const SOURCE_WORDS: Readonly<Record<SourceName, string | undefined>> = {
  nvml: undefined,
  "nvidia-smi": "from nvidia-smi",
  file: "from a file",
  sim: undefined,
  proc: "without the driver's answer, from /proc only",
};

function headLines(
  { host, takenAt, driver, source, simulated }: Snapshot,
  { width, paint }: TableOptions,
): string[] {
  const parts = [
    host.name.ok ? host.name.value : "unknown host",
    formatMoment(takenAt),
    driver.ok ? formatDriver(driver.value) : `driver: ${formatAbsent(driver)}`,
    SOURCE_WORDS[source],
  ];
  const head = wrap(printable(parts.filter((part) => part !== undefined).join(", ")), { width, label: "" });
  return simulated ? [paint(SIMULATED, "bold"), ...head] : head;
}

/** A saved text may name no time, or one of a zone that nobody knows. */
function formatMoment(takenAt: Snapshot["takenAt"]): string {
  return takenAt.ok ? `${takenAt.value.slice(0, 19).replace("T", " ")} UTC` : `time ${formatAbsent(takenAt)}`;
}

function formatDriver(
  { version, libraryVersion, cudaVersion }: Extract<Snapshot["driver"], { ok: true }>["value"],
): string {
  const cuda = cudaVersion.ok ? ` (CUDA ${cudaVersion.value})` : "";
  if (!version.ok) return `driver version not known: ${formatAbsent(version)}`;
  const isMixed = libraryVersion.ok && libraryVersion.value !== version.value;
  return `driver ${version.value}${cuda}${isMixed ? `, but library ${libraryVersion.value}` : ""}`;
}

/** What is missing for several GPUs alike is said once. */
function problemLines(problems: readonly Problem[], { width, paint }: TableOptions): string[] {
  if (problems.length === 0) return [];
  const gpusByPattern = new Map<string, number[]>();
  for (const problem of problems) {
    const sentence = formatProblem(problem);
    const [named, digits] = /\bGPU (\d+)\b/.exec(sentence) ?? [];
    const pattern = named === undefined ? sentence : sentence.replaceAll(named, ONE_GPU);
    gpusByPattern.set(pattern, [
      ...gpusByPattern.get(pattern) ?? [],
      ...(digits === undefined ? [] : [Number(digits)]),
    ]);
  }
  const sentences = [...gpusByPattern].map(([pattern, gpus]) =>
    pattern.replaceAll(ONE_GPU, nameIndexes(gpus))
  );
  return [
    paint("NOT SEEN", "bold"),
    ...sentences.flatMap((sentence) => wrap(printable(sentence), { width, label: "  " })),
  ];
}

/** Stands for the GPU that a sentence is about; no sentence has it by itself. */
const ONE_GPU = "GPU \0";
