/** Does one step of a reset with the tools of the machine, and says what came of it. */
import { busIdsOf } from "../analysis/reset_plan.ts";
import { judgeResetAnswer, judgeSetterAnswer, type ResetAnswer } from "../analysis/smi_reset_answer.ts";
import { printableLines, truncate } from "../core/text.ts";
import { formatDuration, type Milliseconds, milliseconds } from "../core/units.ts";
import type { ResetStep } from "../model/reset.ts";
import type { ToolRun } from "../model/tool_run.ts";
import type { ResetTools } from "../world/ports.ts";
import type { StepResult } from "./reset_steps.ts";

/** A helper that was ended is gone in some milliseconds, once the driver has closed its files. */
const HELPER_LIMIT = milliseconds(10_000);
const UNIT_LIMIT = milliseconds(90_000);
const LONGEST_ANSWER = 500;

/** Does a step that is a program's, or the closing of our own helper. */
export async function performStep(
  step: ResetStep,
  { limit }: { readonly limit: Milliseconds },
  tools: ResetTools,
): Promise<StepResult> {
  const words = step.command?.slice(1) ?? [];
  switch (step.kind) {
    case "close-helper":
      return await closeHelper(tools);
    case "stop-service":
      return ofUnit(await tools.orderUnit("stop", step.unit ?? "", UNIT_LIMIT));
    case "start-service":
      return ofUnit(await tools.orderUnit("start", step.unit ?? "", UNIT_LIMIT));
    case "reset":
      return ofAnswer(judgeResetAnswer(await tools.runSmi(words, limit), busIdsOf(step)));
    case "persistence-off":
    case "persistence-on":
    case "reset-clocks":
      return ofAnswer(judgeSetterAnswer(await tools.runSmi(words, limit)));
    case "evict":
    case "read-again":
      return { state: "done" };
  }
}

async function closeHelper(tools: ResetTools): Promise<StepResult> {
  const left = await tools.closeHelpers(HELPER_LIMIT);
  if (left.length === 0) return { state: "done" };
  const answer = `gpuctl's own helper (PID ${left.join(", ")}) is stuck in the driver and keeps the GPU open`;
  return { state: "timed-out", answer };
}

function ofAnswer(answer: ResetAnswer): StepResult {
  if (answer.kind === "done") return { state: "done" };
  const { refusal, explanation, next, text } = answer;
  const words = text === "" ? "" : `\n${text}`;
  const isLate = refusal === "timed-out" || refusal === "stuck";
  return { state: isLate ? "timed-out" : "failed", answer: `${explanation}; ${next}${words}` };
}

function ofUnit(run: ToolRun): StepResult {
  switch (run.kind) {
    case "ended":
      return run.status === 0 ? { state: "done" } : {
        state: "failed",
        answer: `systemctl ended with ${run.signal ?? `status ${run.status}`}${wordsOf(run.text)}`,
      };
    case "not-started":
      return { state: "failed", answer: `systemctl cannot be run: ${run.message}` };
    case "too-long":
      return { state: "failed", answer: "systemctl wrote more than an answer can be" };
    case "timed-out":
    case "stuck":
      return { state: "timed-out", answer: `systemctl gave no answer within ${formatDuration(UNIT_LIMIT)}` };
  }
}

/** What it wrote, to be put behind a sentence; nothing where it wrote nothing. */
function wordsOf(text: string): string {
  const words = truncate(printableLines(text).trim(), LONGEST_ANSWER);
  return words === "" ? "" : `: ${words}`;
}
