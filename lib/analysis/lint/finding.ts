/** What reading a Python program can find out about the GPUs that it will see. */
import type { EXIT } from "../../core/errors.ts";
import type { RuleId, Severity } from "../../model/lint_rules.ts";

/** Where in the source. Lines and columns count from 1; a column is one UTF-16 unit. */
export interface Place {
  readonly path: string;
  /** The code cell of a notebook, counted from 1. */
  readonly cell?: number;
  readonly line: number;
  readonly column: number;
}

/** A second place that the finding rests on, with what is there. */
export interface Related {
  readonly place: Place;
  readonly text: string;
}

/** One thing found. */
export interface Finding {
  readonly rule: RuleId;
  readonly severity: Severity;
  /** False where the source alone cannot settle it: not a proof, and not an all-clear either. */
  readonly isDecided: boolean;
  readonly place: Place;
  /** Why it matters here, in one or two sentences. */
  readonly message: string;
  /** One thing to do. */
  readonly fix: string;
  readonly related: readonly Related[];
  /** The statements in the order in which they should stand; empty where order is not the matter. */
  readonly correctedOrder: readonly string[];
}

/** `train.py:4`, `train.ipynb cell 3:1`. */
export function formatPlace({ path, cell, line }: Place): string {
  return cell === undefined ? `${path}:${line}` : `${path} cell ${cell}:${line}`;
}

/** What the findings come to: proven trouble is a finding, anything undecided leaves it unproven, and notes are fine. */
export function judgeFindings(
  findings: readonly Finding[],
): Extract<keyof typeof EXIT, "ok" | "unavailable" | "finding"> {
  if (findings.some(({ severity, isDecided }) => isDecided && severity !== "note")) return "finding";
  return findings.some(({ isDecided }) => !isDecided) ? "unavailable" : "ok";
}
