/** The words for what reading a Python program can find. */

/** How much a finding weighs: it does not work; it works by luck; good to know. */
export const SEVERITIES = ["error", "warning", "note"] as const;
export type Severity = typeof SEVERITIES[number];

/**
 * What can be found:
 *
 * - `set-after-cuda`: a variable that CUDA reads once is set after CUDA has read it
 * - `set-after-import`: it is set after a framework is imported, and works only as long as that stays idle
 * - `set-in-function`: it is set in a function, and nothing shows when that is called
 * - `set-conditionally`: it is set only under a condition
 * - `set-if-missing`: a value from outside wins over the one in the source
 * - `set-in-subshell`: it is set in a shell that ends at once
 * - `wrong-variable`: the variable that is set is one that CUDA does not read
 * - `environment-replaced`: os.environ is replaced by another object, which CUDA never sees
 * - `value-not-text`: the value is no text, so Python refuses it
 * - `value-ends-early`: CUDA stops reading the list before its end
 * - `value-refused`: CUDA fails with this value
 * - `value-ignored`: CUDA ignores this value
 * - `dynamic-environment`: which variable is set cannot be told from the source
 * - `dynamic-code`: code is made at run time
 * - `dynamic-import`: which module is imported cannot be told from the source
 * - `star-import`: names come from a module that was not read
 * - `unread-modules`: modules that were not read are imported before the variable is set
 * - `not-followed`: the program is too deep or too large to be followed to its end
 * - `unreadable`: the source could not be read
 */
export const RULE_IDS = [
  "set-after-cuda",
  "set-after-import",
  "set-in-function",
  "set-conditionally",
  "set-if-missing",
  "set-in-subshell",
  "wrong-variable",
  "environment-replaced",
  "value-not-text",
  "value-ends-early",
  "value-refused",
  "value-ignored",
  "dynamic-environment",
  "dynamic-code",
  "dynamic-import",
  "star-import",
  "unread-modules",
  "not-followed",
  "unreadable",
] as const;
/** One of them. */
export type RuleId = typeof RULE_IDS[number];
