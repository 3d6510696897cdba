/** The four things that a check can say. */
import { type Absent, formatAbsent, type Why } from "../../core/reading.ts";
import type { CheckStatus, CheckVerdict } from "../../model/doctor.ts";

/** Worst first: what is proven to be wrong outweighs what could not be read. */
const WORST_FIRST: readonly CheckStatus[] = ["finding", "unknown", "ok", "skipped"];

/** What may help against each reason for which something could not be read. */
const HELP: Readonly<Partial<Record<Why, string>>> = {
  "no-permission": "run it as root: sudo gpuctl doctor",
  "timed-out": "give it more time, such as --deadline 30s; if it stays, look into the kernel log: sudo dmesg",
};

/** All that it rests on was read, and all is well. */
export function fine(...evidence: readonly string[]): CheckVerdict {
  return { status: "ok", evidence };
}

/** Something is wrong. */
export function finding(evidence: readonly string[], fix: string): CheckVerdict {
  return { status: "finding", evidence, fix };
}

/** Something that it rests on could not be read. */
export function unknown(evidence: readonly string[], fix?: string): CheckVerdict {
  return { status: "unknown", evidence, ...fix !== undefined && { fix } };
}

/** It does not apply here. */
export function skipped(why: string): CheckVerdict {
  return { status: "skipped", evidence: [why] };
}

/** Something could not be read, said in its own words. `what` begins the sentence: `the kernel log`. */
export function unseen(what: string, reason: Absent): CheckVerdict {
  return unknown([`${what} is not known: ${formatAbsent(reason)}`], HELP[reason.why]);
}

/** Sums up the parts of a check, such as its GPUs: the worst decides, and its evidence stands first. */
export function worstVerdict(verdicts: readonly CheckVerdict[]): CheckVerdict {
  const ordered = WORST_FIRST.flatMap((status) => verdicts.filter((each) => each.status === status));
  const [worst] = ordered;
  if (worst === undefined) return unknown(["there was nothing to look at"]);
  const fix = ordered.find((each) => each.status === worst.status && each.fix !== undefined)?.fix;
  return {
    status: worst.status,
    evidence: [...new Set(ordered.flatMap(({ evidence }) => evidence))],
    ...fix !== undefined && { fix },
  };
}
