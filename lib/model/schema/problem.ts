import type * as v from "valibot";
import { WHYS } from "../../core/reading.ts";
import { described, list, NULLABLE_TEXT, oneOf, record, TEXT } from "./values.ts";

/** Why a value is missing, or what else could not be seen. */
export const PROBLEM = record({
  at: described(
    NULLABLE_TEXT,
    "JSON Pointer (RFC 6901) to the missing value; null for what concerns several",
  ),
  subject: described(TEXT, "What people call it: GPU 3, PID 812"),
  why: described(oneOf(WHYS), "The kind of reason"),
  detail: described(NULLABLE_TEXT, "A path, a status name, the source's own words; null if there are none"),
  message: described(TEXT, "The same as a sentence"),
});
export type ProblemJson = v.InferOutput<typeof PROBLEM>;

/** What stands last in every document that may lack a value. */
export const PROBLEMS = described(
  list(PROBLEM),
  "Why each null is null, where a reason is known, and what else could not be seen",
);
