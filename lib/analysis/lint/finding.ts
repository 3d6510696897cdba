/** What reading a Python program can find out about the GPUs that it will see. */
import type { EXIT } from "../../core/errors.ts";

/** How much a finding weighs: it does not work; it works by luck; good to know. */
export type Severity = "error" | "warning" | "note";

/** Every rule with what it is about, in one line. */
export const RULES = {
  "set-after-cuda": "a variable that CUDA reads once is set after CUDA has read it",
  "set-after-import":
    "the variable is set after a framework is imported, and works only as long as that stays idle",
  "set-in-function": "the variable is set in a function, and nothing shows when that is called",
  "set-conditionally": "the variable is set only under a condition",
  "set-if-missing": "a value from outside wins over the one in the source",
  "set-in-subshell": "the variable is set in a shell that ends at once",
  "wrong-variable": "the variable that is set is one that CUDA does not read",
  "environment-replaced": "os.environ is replaced by another object, which CUDA never sees",
  "value-not-text": "the value is no text, so Python refuses it",
  "value-ends-early": "CUDA stops reading the list before its end",
  "value-refused": "CUDA fails with this value",
  "value-ignored": "CUDA ignores this value",
  "dynamic-environment": "which variable is set cannot be told from the source",
  "dynamic-code": "code is made at run time",
  "dynamic-import": "which module is imported cannot be told from the source",
  "star-import": "names come from a module that was not read",
  "unread-modules": "modules that were not read are imported before the variable is set",
  "not-followed": "the program is too deep or too large to be followed to its end",
  unreadable: "the source could not be read",
} as const;
/** The name of a rule. */
export type RuleId = keyof typeof RULES;

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
