/** What a reset came to in a sentence or two, and what now. */
import { nameIndexes } from "../core/ranges.ts";
import { plural } from "../core/text.ts";
import type { Blocker, GpuResetNeed, Reset, ResetStep } from "../model/reset.ts";

/** The last lines of a report. */
export function describeOutcome(reset: Reset): string[] {
  const { outcome, needs, results, steps } = reset;
  switch (outcome) {
    case "plan":
      return describePlan(reset);
    case "blocked":
      return [`BLOCKED: ${describeStanding(reset.blockers)} Nothing was begun.`];
    case "done":
      return [
        isOfClocks(steps)
          ? `DONE: the clocks of ${namesOf(needs)} are set back.`
          : `DONE: ${namesOf(needs)} ${needs.length === 1 ? "is" : "are"} reset, read again and healthy.`,
      ];
    case "failed": {
      const failed = steps.find(({ state }) => state === "failed" || state === "timed-out");
      return [
        failed === undefined ? "FAILED." : `FAILED: ${describeFailure(failed)}`,
        ...describeUndone(steps),
      ];
    }
    case "not-back": {
      const sick = results.filter(({ isBack }) => !isBack).map(({ index }) => index);
      return [
        `NOT BACK: nvidia-smi reported success, but ${nameIndexes(sick)} did not come back healthy. ` +
        "Keep jobs off it and reboot; if that does not help, cut the power.",
        ...describeUndone(steps),
      ];
    }
    case "interrupted":
      return ["INTERRUPTED by a signal.", ...describeUndone(steps)];
  }
}

function describePlan({ needs, blockers, steps }: Reset): string[] {
  if (steps.length === 0) return [`Nothing was done: ${describeStanding(blockers)}`];
  const isNeeded = isOfClocks(steps) ||
    needs.some(({ advice }) => advice === "reset" || advice === "drain");
  return [
    ...(isNeeded ? [] : [`What was seen does not call for a reset of ${namesOf(needs)}.`]),
    "Nothing was done: --yes carries it out.",
  ];
}

/** Undoing locked clocks asks nothing of a GPU that a reset asks. */
/** Whether no GPU is to be reset, and clocks alone are set back. */
export function isOfClocks(steps: readonly ResetStep[]): boolean {
  return steps.some(({ kind }) => kind === "reset-clocks");
}

function describeStanding(blockers: readonly Blocker[]): string {
  const count = (clearedBy: Blocker["clearedBy"]) =>
    new Set(
      blockers.filter((blocker) => blocker.clearedBy === clearedBy).map(({ kind, who }) => `${kind} ${who}`),
    ).size;
  const [byHand, byServices, byEviction] = [count("nobody"), count("stop-services"), count("evict")];
  const parts = [
    ...(byHand > 0
      ? [`${plural(byHand, "thing")} in the way ${byHand === 1 ? "has" : "have"} to be cleared by you`]
      : []),
    ...(byServices > 0 ? [`--stop-services clears ${byServices}`] : []),
    ...(byEviction > 0 ? [`--evict clears ${byEviction}`] : []),
  ];
  return parts.length === 0 ? "there is nothing to do." : `${parts.join("; ")}.`;
}

function describeFailure({ what, state, answer }: ResetStep): string {
  const [first] = (answer ?? "").split("\n");
  if (first !== undefined && first !== "") return `cannot ${what}: ${first.replace(/\.$/, "")}.`;
  return state === "timed-out" ? `cannot ${what}: no answer in time.` : `cannot ${what}.`;
}

/** What was changed and not put back is the next thing to do. */
function describeUndone(steps: readonly ResetStep[]): string[] {
  const undone = steps.filter(({ isUndo, state }) => isUndo && (state === "failed" || state === "timed-out"));
  const undos = steps.filter(({ isUndo, state }) => isUndo && state === "done");
  if (undone.length > 0) {
    return [`NOT PUT BACK, do it by hand: ${undone.map(({ what }) => what).join("; ")}.`];
  }
  return undos.length > 0 ? ["What had been changed was put back."] : [];
}

function namesOf(needs: readonly GpuResetNeed[]): string {
  return nameIndexes(needs.map(({ index }) => index));
}
