/** Judges the value that a program gives to a variable that CUDA reads. */
import { printable, truncate } from "../../core/text.ts";
import { type BadEntry, isTooLong, LONGEST_VALUE_BYTES, readVisibleEntries } from "../visible_entries.ts";
import type { CudaVariable } from "./environment.ts";
import type { RuleId, Severity } from "../../model/lint_rules.ts";
import type { Value } from "./program.ts";

/** What is wrong with a value. */
export interface ValueFlaw {
  readonly rule: RuleId;
  readonly severity: Severity;
  readonly message: string;
  readonly fix: string;
}

const LIST_FIX =
  "Write a list such as 0,1, or UUIDs as nvidia-smi -L prints them, with commas and nothing else between";
const ENDS: Readonly<Record<BadEntry, string>> = {
  empty: "it is empty",
  negative: "it is negative",
  "no-dev-files": "it means no GPU",
  "other-form": "numbers and UUIDs do not mix",
  "not-a-device": "it is neither a number nor a UUID that begins with GPU- or MIG-",
  "not-a-uuid": "it is not part of a UUID",
};

/** The flaws of a value that show without knowing the machine. */
export function judgeValue(variable: CudaVariable, value: Value): readonly ValueFlaw[] {
  if (value.kind === "constant" || value.kind === "list" || value.kind === "mapping") {
    return [notText(variable, value)];
  }
  if (value.kind !== "text") return [];
  return variable === "CUDA_DEVICE_ORDER" ? judgeOrder(value.text) : judgeList(value.text);
}

function notText(variable: string, value: Value): ValueFlaw {
  const type = value.kind === "constant" ? value.type : value.kind === "mapping" ? "dict" : "list";
  const example = value.kind === "constant" && type === "int" ? `"${value.text}"` : '"0,1"';
  return {
    rule: "value-not-text",
    severity: "error",
    message:
      `${variable} is given a value of type ${type}; Python raises TypeError, as an environment holds text only`,
    fix: `Write it in quotes: ${example}`,
  };
}

function judgeOrder(order: string): readonly ValueFlaw[] {
  if (order === "PCI_BUS_ID" || order === "FASTEST_FIRST") return [];
  return [{
    rule: "value-refused",
    severity: "error",
    message: `CUDA_DEVICE_ORDER=${
      show(order)
    } makes every CUDA call fail: CUDA knows PCI_BUS_ID and FASTEST_FIRST, in capitals`,
    fix: "Write PCI_BUS_ID",
  }];
}

function judgeList(list: string): readonly ValueFlaw[] {
  if (isTooLong(list)) {
    return [{
      rule: "value-ignored",
      severity: "error",
      message:
        `The value is longer than ${LONGEST_VALUE_BYTES} bytes, so CUDA ignores it and shows every GPU`,
      fix: LIST_FIX,
    }];
  }
  // The usual ways to hide every GPU are meant, and work.
  if (list === "" || list === "-1" || list === "NoDevFiles") return [];
  const entries = readVisibleEntries(list);
  const keys = entries.flatMap((entry) =>
    entry.kind === "number" ? [String(entry.number)] : entry.kind === "uuid" ? [entry.digits] : []
  );
  if (new Set(keys).size < keys.length) {
    return [{
      rule: "value-refused",
      severity: "error",
      message: `${show(list)} names a GPU twice, so CUDA gives none and fails with CUDA_ERROR_INVALID_DEVICE`,
      fix: "Name each GPU once",
    }];
  }
  const cut = entries.find((entry) =>
    (entry.kind === "number" || entry.kind === "uuid") && entry.ignored.trim() !== ""
  );
  const last = entries.at(-1);
  if (last?.kind === "bad") return [endsEarly(list, last.text, ENDS[last.why], keys.length)];
  if (cut === undefined || cut.kind === "bad" || cut.kind === "mig-path") return [];
  return [{
    rule: "value-ends-early",
    severity: "warning",
    message: `CUDA reads ${show(cut.text)} only up to ${show(cut.ignored)}, and ignores that`,
    fix: LIST_FIX,
  }];
}

function endsEarly(list: string, entry: string, why: string, read: number): ValueFlaw {
  return {
    rule: "value-ends-early",
    severity: read === 0 ? "error" : "warning",
    message: read === 0
      ? `CUDA shows no GPU at all for ${show(list)}: it stops reading at ${show(entry)}, as ${why}`
      : `CUDA stops reading ${show(list)} at ${show(entry)}, as ${why}; what follows has no effect`,
    fix: LIST_FIX,
  };
}

function show(text: string): string {
  return `"${printable(truncate(text, 60))}"`;
}
