import type { RuleId } from "../../model/lint_rules.ts";
import type { Finding, Place } from "./finding.ts";

/** Rules of which one place has at most one: they are grades of the same question, "in time or not?", worst first. */
const TIMING: readonly RuleId[] = [
  "set-after-cuda",
  "set-after-import",
  "set-in-function",
  "set-conditionally",
  "unread-modules",
];

/**
 * Collects findings. The same statement may be reached on several paths; it is then told once, at its worst.
 */
export class FindingBook {
  readonly #findings = new Map<string, Finding>();

  add(finding: Finding): void {
    const isTiming = TIMING.includes(finding.rule);
    const key = JSON.stringify([
      finding.place,
      isTiming ? "timing" : finding.rule,
      isTiming ? "" : finding.message,
    ]);
    const before = this.#findings.get(key);
    if (before === undefined || rank(finding) < rank(before)) this.#findings.set(key, finding);
  }

  /** All findings, file by file in the given order, and from top to bottom. */
  inOrder(paths: readonly string[]): readonly Finding[] {
    const orderOf = new Map(paths.map((path, at) => [path, at]));
    return [...this.#findings.values()].sort((a, b) =>
      (orderOf.get(a.place.path) ?? 0) - (orderOf.get(b.place.path) ?? 0) || comparePlaces(a.place, b.place)
    );
  }
}

function rank({ rule, severity }: Finding): number {
  return 10 * ["error", "warning", "note"].indexOf(severity) + TIMING.indexOf(rule);
}

function comparePlaces(a: Place, b: Place): number {
  return (a.cell ?? 0) - (b.cell ?? 0) || a.line - b.line || a.column - b.column;
}
