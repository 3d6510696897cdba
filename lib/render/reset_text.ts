/** A reset for whoever is on call: would it help, what is in the way, what is done, what came of it, what now. */
import { nameIndexes } from "../core/ranges.ts";
import { plural, printable, quoteArguments } from "../core/text.ts";
import { type Bytes, formatBytes, formatDuration } from "../core/units.ts";
import type { Reading } from "../core/reading.ts";
import type {
  GpuResetNeed,
  Reset,
  ResetAdvice,
  ResetGpuResult,
  ResetStep,
  StepState,
} from "../model/reset.ts";
import { COLOUR, PLAIN, type Tone } from "./colour.ts";
import { wrap } from "./layout.ts";
import { blockerLines } from "./reset_blockers_text.ts";
import { describeOutcome, isOfClocks } from "./reset_outcome.ts";
import { SIMULATED } from "./simulated.ts";
import { UNKNOWN } from "./snapshot_columns.ts";
import type { TableOptions } from "./table.ts";

const ADVICE = {
  reboot: ["only a reboot helps", "red"],
  drain: ["let its jobs end, then reset it", "yellow"],
  reset: ["a reset would help", "yellow"],
  "end-processes": ["no reset needed: end processes instead", "yellow"],
  none: ["nothing that a reset would mend", "plain"],
  unknown: ["whether a reset would help is not known", "yellow"],
} as const satisfies Record<ResetAdvice, readonly [string, Tone]>;

const STATE_WORDS = {
  planned: "",
  done: "done",
  failed: "FAILED",
  "timed-out": "NO ANSWER IN TIME",
  skipped: "skipped",
} as const satisfies Record<StepState, string>;

/** Writes a reset as text. Without a screen nothing is wrapped or coloured. */
export function renderReset(
  reset: Reset,
  screen?: { readonly columns: number; readonly hasColour: boolean },
): string {
  const options = { width: screen?.columns, paint: screen?.hasColour ? COLOUR : PLAIN };
  const { width, paint } = options;
  const names = new Map(reset.needs.map(({ gpu, index }) => [gpu, index]));
  const inTheWay = reset.blockers.filter(({ clearedBy }) => clearedBy !== "warning");
  const warnings = reset.blockers.filter(({ clearedBy }) => clearedBy === "warning");
  const blocks = [
    reset.simulated ? [paint(SIMULATED, "bold")] : [],
    // Who only wants clocks set back has not asked what a reset would mend.
    ...(isOfClocks(reset.steps) ? [] : alike(reset.needs)).map((needs) => needLines(needs, options)),
    titled(paint("IN THE WAY", "bold"), blockerLines(inTheWay, names, options)),
    titled(paint("MIND", "bold"), blockerLines(warnings, names, options)),
    titled(
      paint("STEPS", "bold"),
      reset.steps.flatMap((step, place) => stepLines(step, `${String(place + 1).padStart(3)}. `, width)),
    ),
    titled(paint("AFTERWARDS", "bold"), reset.results.flatMap((result) => resultLines(result, options))),
    titled(
      paint("NOT SEEN", "bold"),
      reset.problems.flatMap(({ message }) => wrap(printable(message), { width, label: "  " })),
    ),
    describeOutcome(reset).flatMap((sentence) => wrap(printable(sentence), { width, label: "" })),
  ];
  return blocks.filter(({ length }) => length > 0).map((lines) => lines.map((line) => `${line}\n`).join(""))
    .join("\n");
}

/** One step in one line, for a journal or for progress. */
export function formatResetStep({ what, state, took, answer }: ResetStep): string {
  const time = took === undefined ? "" : ` (${formatDuration(took)})`;
  const words = STATE_WORDS[state] === "" ? "" : `: ${STATE_WORDS[state]}${time}`;
  return printable(`${what}${words}${answer === undefined ? "" : `: ${answer.replaceAll("\n", "; ")}`}`);
}

function titled(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

/** GPUs of which the same is to be said are told of once. */
function alike(needs: readonly GpuResetNeed[]): (readonly [GpuResetNeed, ...GpuResetNeed[]])[] {
  const groups = new Map<string, [GpuResetNeed, ...GpuResetNeed[]]>();
  for (const need of needs) {
    const { name, advice, reasons, processes } = need;
    const said = JSON.stringify([name, advice, reasons, processes]);
    const group = groups.get(said);
    if (group) group.push(need);
    else groups.set(said, [need]);
  }
  return [...groups.values()];
}

function needLines(
  needs: readonly [GpuResetNeed, ...GpuResetNeed[]],
  options: TableOptions,
): string[] {
  const [{ name, advice, reasons, processes }] = needs;
  const { width, paint } = options;
  const [words, tone] = ADVICE[advice];
  const pids = processes.length === 0 ? "" : ` (${plural(processes.length, "process", "processes")})`;
  const title = `${nameIndexes(needs.map(({ index }) => index))}  ${
    printable(name.ok ? name.value : UNKNOWN)
  }: `;
  return [
    `${title}${paint(`${words}${pids}`, tone)}`,
    ...reasons.flatMap((reason) => wrap(printable(reason), { width, label: "  - " })),
  ];
}

function stepLines(step: ResetStep, label: string, width: number | undefined): string[] {
  const { what, command, isUndo, state, took, answer } = step;
  const time = took === undefined ? "" : ` in ${formatDuration(took)}`;
  const came = STATE_WORDS[state] === "" ? "" : ` [${STATE_WORDS[state]}${time}]`;
  const blank = " ".repeat(label.length);
  return [
    ...wrap(`${printable(what)}${isUndo ? " (also after a failure)" : ""}${came}`, { width, label }),
    ...(command === undefined ? [] : [`${blank}$ ${printable(quoteArguments(command))}`]),
    ...(answer === undefined
      ? []
      : answer.split("\n").flatMap((line) => wrap(printable(line), { width, label: `${blank}| ` }))),
  ];
}

function resultLines(result: ResetGpuResult, { width, paint }: TableOptions): string[] {
  const { index, isBack, usedBefore, usedAfter, faults } = result;
  const used = `${amountOf(usedBefore)} used before, ${amountOf(usedAfter)} after`;
  return [
    `  GPU ${index} ${isBack ? "is back" : paint("did not come back healthy", "red")}: ${used}`,
    ...faults.flatMap((fault) => wrap(printable(fault), { width, label: "    - " })),
  ];
}

function amountOf(reading: Reading<Bytes>): string {
  return reading.ok ? formatBytes(reading.value) : "an unknown amount";
}
