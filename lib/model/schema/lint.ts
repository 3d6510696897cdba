/** What `gpuctl verify-isolation --lint FILE --json` says without a command. */
import * as v from "valibot";
import { RULE_IDS, SEVERITIES } from "../lint_rules.ts";
import { described, FLAG, list, oneOf, record, TEXT, versionOf, wholeNumber } from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const LINT_SCHEMA_NAME = "gpuctl.lint/1";

const POSITION = v.pipe(
  wholeNumber(Number.MAX_SAFE_INTEGER, "a whole number from 1"),
  v.minValue(1, "a whole number from 1"),
);

const PLACE = {
  path: described(TEXT, "The file, as it was named"),
  cell: described(v.nullable(POSITION), "Code cell of a notebook, counted from 1; null for a program"),
  line: described(POSITION, "Line, counted from 1"),
  column: described(POSITION, "Column in UTF-16 units, counted from 1"),
};

const RELATED = record({ ...PLACE, text: described(TEXT, "What stands there") });

const FINDING = record({
  rule: described(oneOf(RULE_IDS), "Name of the rule"),
  severity: described(oneOf(SEVERITIES), "It does not work; it works by luck; good to know"),
  decided: described(FLAG, "False where the source alone cannot settle it"),
  ...PLACE,
  message: described(TEXT, "Why it matters here"),
  fix: described(TEXT, "One thing to do"),
  related: described(list(RELATED), "Other places that it rests on"),
  correctedOrder: described(
    list(TEXT),
    "The statements in the order in which they should stand; empty where order is not the matter",
  ),
});

/** Everything that was found in some Python sources. */
export const LINT_SCHEMA = record({
  schema: versionOf(LINT_SCHEMA_NAME),
  verdict: described(oneOf(["found", "undecided", "fine"]), "What it comes to"),
  files: described(list(TEXT), "Every file that was read"),
  findings: described(list(FINDING), "Everything that was found"),
});
export type LintJson = v.InferOutput<typeof LINT_SCHEMA>;
export type FindingJson = v.InferOutput<typeof FINDING>;
export type RelatedJson = v.InferOutput<typeof RELATED>;

/** Definitions that the published schema names. */
export const LINT_PARTS = { finding: FINDING, related: RELATED };
