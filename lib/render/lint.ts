/** Prints findings about Python sources as a compiler would. */
import { plural, printable } from "../core/text.ts";
import type { Finding, Place } from "../analysis/lint/finding.ts";
import { SEVERITIES } from "../model/lint_rules.ts";

/** What was checked. */
export interface LintSummary {
  readonly files: number;
}

/**
 * The findings, each as `path:line:column: severity[rule] sentence`, then what it rests on, the fix and the corrected
 * order; and one line that sums up. Text from the sources is escaped where it could drive a terminal.
 */
export function renderLint(findings: readonly Finding[], { files }: LintSummary): string {
  return [...findings.flatMap(linesOf), sumUp(findings, files)].map((line) => `${line}\n`).join("");
}

function linesOf(
  { place, severity, rule, message, related, fix, correctedOrder }: Finding,
): readonly string[] {
  return [
    printable(`${formatPosition(place)}: ${severity}[${rule}] ${message}`),
    ...related.map((other) => printable(`    ${formatPosition(other.place)}: ${firstLine(other.text)}`)),
    printable(`  fix: ${fix}`),
    ...correctedOrder.flatMap((statement) => statement.split("\n")).map((line) => printable(`      ${line}`)),
  ];
}

/** `train.py:4:1`, or `train.ipynb:cell 3:4:1`. */
function formatPosition({ path, cell, line, column }: Place): string {
  return `${path}:${cell === undefined ? "" : `cell ${cell}:`}${line}:${column}`;
}

function firstLine(text: string): string {
  const [line = ""] = text.split("\n");
  return line;
}

function sumUp(findings: readonly Finding[], files: number): string {
  const counts = SEVERITIES.map((severity) =>
    [findings.filter((one) => one.severity === severity).length, severity] as const
  )
    .filter(([count]) => count > 0).map(([count, severity]) => plural(count, severity));
  const open = findings.some(({ isDecided }) => !isDecided) ? "; not everything could be decided" : "";
  return counts.length === 0
    ? `Nothing found in ${plural(files, "file")}`
    : `${counts.join(", ")} in ${plural(files, "file")}${open}`;
}
