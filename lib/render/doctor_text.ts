/** A diagnosis for whoever is on call: every check in its order, and for each finding what was seen and what to do. */
import { plural, printable } from "../core/text.ts";
import type { Check, CheckStatus, Diagnosis } from "../model/doctor.ts";
import { COLOUR, PLAIN, type Tone } from "./colour.ts";
import { blanksFor, wrap } from "./layout.ts";
import { SIMULATED } from "./simulated.ts";
import { renderTable, type TableOptions } from "./table.ts";

const WORDS = {
  ok: ["ok", "plain"],
  finding: ["FINDING", "red"],
  unknown: ["not known", "yellow"],
  skipped: ["-", "plain"],
} as const satisfies Record<CheckStatus, readonly [string, Tone]>;

/** Width of the longest of those words. */
const WORD_WIDTH = 9;

export interface DoctorTextOptions {
  readonly screen?: { readonly columns: number; readonly hasColour: boolean } | undefined;
  /** Only what is wrong. */
  readonly isQuiet?: boolean;
}

/** Writes a diagnosis as text. Without a screen nothing is wrapped or coloured. Quiet and without findings it is empty. */
export function renderDiagnosis(
  { checks, simulated }: Diagnosis,
  { screen, isQuiet = false }: DoctorTextOptions = {},
): string {
  const options = { width: screen?.columns, paint: screen?.hasColour ? COLOUR : PLAIN };
  const shown = isQuiet ? checks.filter(({ status }) => status === "finding") : checks;
  if (isQuiet && shown.length === 0) return "";
  const told = shown.filter(({ status }) => status !== "skipped");
  const blocks = [
    simulated ? [options.paint(SIMULATED, "bold")] : [],
    groupAlike(told).flatMap((checks) => checkLines(checks, options)),
    skippedLines(shown.filter(({ status }) => status === "skipped"), options),
    isQuiet ? [] : wrap(sumUp(checks), { width: options.width, label: "" }),
  ];
  return blocks.filter(({ length }) => length > 0).map((lines) => lines.map((line) => `${line}\n`).join(""))
    .join("\n");
}

/** The ids of some checks, each with what it is about. */
export function renderCheckList(checks: readonly Pick<Check, "id" | "title">[]): string {
  return renderTable(checks, [
    { title: "CHECK", align: "left", cell: ({ id }) => id },
    { title: "ALL IS WELL WHEN", align: "left", cell: ({ title }) => title },
  ]);
}

/** Checks that could not be made for one and the same reason are told once, where the first of them stands. */
function groupAlike(checks: readonly Check[]): readonly Group[] {
  const groups: [Check, ...Check[]][] = [];
  for (const check of checks) {
    const same = check.status === "unknown" ? groups.find(([first]) => isAlike(first, check)) : undefined;
    if (same === undefined) groups.push([check]);
    else same.push(check);
  }
  return groups;
}

type Group = readonly [Check, ...Check[]];

function isAlike(a: Check, b: Check): boolean {
  return a.status === b.status && a.fix === b.fix && a.evidence.join("\n") === b.evidence.join("\n");
}

function checkLines(checks: Group, options: TableOptions): string[] {
  const [{ title, status, evidence, fix, explanation }] = checks;
  const ids = checks.map(({ id }) => id).join(", ");
  const { width, paint } = options;
  const [word, tone] = WORDS[status];
  const label = `${word}${blanksFor(word, WORD_WIDTH)}  `;
  const [first = title, ...further] = evidence.map(printable);
  const isOk = status === "ok";
  const rest = isOk && further.length > 0 ? ` (${further.length} more in --json)` : "";
  const [head = "", ...lines] = wrap(`${ids}: ${first}${rest}`, { width, label });
  const indent = " ".repeat(label.length);
  return [
    // The tone's escape codes have no width of their own.
    `${paint(word, tone)}${head.slice(word.length)}`,
    ...lines,
    ...(isOk ? [] : further.flatMap((sentence) => wrap(sentence, { width, label: `${indent}- ` }))),
    ...(fix === undefined ? [] : wrap(printable(fix), { width, label: `${indent}fix: ` })),
    ...(status === "finding" ? wrap(explanation, { width, label: `${indent}why: ` }) : []),
  ];
}

/** What does not apply, by the reason that several have in common. */
function skippedLines(checks: readonly Check[], { width, paint }: TableOptions): string[] {
  const byReason = Map.groupBy(checks, ({ evidence }) => evidence[0] ?? "");
  const lines = [...byReason].flatMap(([reason, same]) =>
    wrap(`${same.map(({ id }) => id).join(", ")}: ${printable(reason)}`, { width, label: "  - " })
  );
  return lines.length === 0 ? [] : [paint("DOES NOT APPLY HERE", "bold"), ...lines];
}

function sumUp(checks: readonly Check[]): string {
  const count = (status: CheckStatus) => checks.filter((check) => check.status === status).length;
  const [findings, unknown, skipped] = [count("finding"), count("unknown"), count("skipped")];
  if (skipped === checks.length) return "None of these checks applies here, so nothing was found out.";
  const parts = [
    findings === 0 ? "Nothing wrong was found" : plural(findings, "finding"),
    ...(unknown === 0 ? [] : [`${plural(unknown, "check")} could not be made in full`]),
    `${plural(count("ok"), "check")} ok`,
    ...(skipped === 0 ? [] : [`${skipped} ${skipped === 1 ? "does" : "do"} not apply here`]),
  ];
  const advice = findings > 1 ? " Begin with the first: what stands below may follow from it." : "";
  return `${parts.join(", ")}.${advice}`;
}
