/** A reset for the systemd journal: one line for each act and each thing in the way, then what came of it. */
import type { Blocker, BlockerClearer, Reset, ResetOutcome, ResetStep, StepState } from "../model/reset.ts";
import { printable } from "../core/text.ts";
import { formatJournalLine, type PRIORITY } from "./journal.ts";
import { describeOutcome } from "./reset_outcome.ts";
import { formatResetStep } from "./reset_text.ts";

type Priority = keyof typeof PRIORITY;

/** What was skipped was not done, and is not told. */
const OF_STEPS = {
  planned: "info",
  done: "notice",
  failed: "err",
  "timed-out": "err",
  skipped: undefined,
} as const satisfies Record<StepState, Priority | undefined>;

const OF_OUTCOMES = {
  plan: "info",
  blocked: "warning",
  done: "notice",
  failed: "err",
  "not-back": "err",
  interrupted: "warning",
} as const satisfies Record<ResetOutcome, Priority>;

/** Whether a blocker is worth a line where something stands in the way. */
const STANDS = {
  nobody: true,
  evict: true,
  "stop-services": true,
  plan: false,
  warning: false,
} as const satisfies Record<BlockerClearer, boolean>;

/** Writes the lines, each with its priority in front. */
export function journalReset(reset: Reset): string {
  const { outcome, blockers, steps } = reset;
  const isInTheWay = outcome === "blocked" || outcome === "plan";
  return [
    ...isInTheWay ? blockers.filter(({ clearedBy }) => STANDS[clearedBy]).map(journalBlocker) : [],
    ...steps.flatMap(journalStep),
    ...describeOutcome(reset).map((sentence) => formatJournalLine(OF_OUTCOMES[outcome], printable(sentence))),
  ].join("");
}

function journalBlocker({ who, why, remedy }: Blocker): string {
  return formatJournalLine("warning", printable(`in the way: ${who}: ${why}; ${remedy}`));
}

function journalStep(step: ResetStep): string[] {
  const priority = OF_STEPS[step.state];
  return priority === undefined ? [] : [formatJournalLine(priority, formatResetStep(step))];
}
