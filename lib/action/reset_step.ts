/** Does one step of a reset with the tools of the machine, and says what came of it. */
import { busIdsOf } from "../analysis/reset_plan.ts";
import { judgeResetAnswer, judgeSetterAnswer, type ResetAnswer } from "../analysis/smi_reset_answer.ts";
import { formatAbsent } from "../core/reading.ts";
import { printableLines, truncate } from "../core/text.ts";
import { formatDuration, type Milliseconds, milliseconds } from "../core/units.ts";
import type { ResetStep } from "../model/reset.ts";
import type { ToolRun } from "../model/tool_run.ts";
import type { ResetTools } from "../world/ports.ts";
import type { StepResult } from "./reset_steps.ts";

/** A helper that was ended is gone in some milliseconds, once the driver has closed its files. */
const HELPER_LIMIT = milliseconds(10_000);
const UNIT_LIMIT = milliseconds(90_000);
/** A manager that is busy with thousands of units answers in less. */
const ASKING_LIMIT = milliseconds(5000);
const LONGEST_ANSWER = 500;

/** Does a step that is a program's, or the closing of our own helper. @throws {TypeError} for every other kind */
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
      return await startUnit(step.unit ?? "", tools);
    case "reset":
      return await runSmi((run) => judgeResetAnswer(run, busIdsOf(step)));
    case "persistence-off":
    case "persistence-on":
      return await runSmi(judgeSetterAnswer);
    case "reset-clocks":
      return await resetClocks(step, { limit }, tools) ?? await runSmi(judgeSetterAnswer);
    case "evict":
    case "read-again":
      throw new TypeError(`Cannot do ${step.kind}: no program does it`);
  }

  async function runSmi(judge: (run: ToolRun) => ResetAnswer): Promise<StepResult> {
    const run = await tools.runSmi(words, limit);
    return ofAnswer(judge(run), run);
  }
}

/** Sets clocks back by NVML; `undefined` where that has no call for it. */
async function resetClocks(
  { gpu, clocks }: ResetStep,
  { limit }: { readonly limit: Milliseconds },
  tools: ResetTools,
): Promise<StepResult | undefined> {
  if (gpu === undefined || clocks === undefined) return undefined;
  const done = await tools.resetClocks({ gpu, clocks }, limit);
  if (done.ok) return { state: "done" };
  if (done.why === "not-supported") return undefined;
  return { state: done.why === "timed-out" ? "timed-out" : "failed", answer: formatAbsent(done) };
}

async function closeHelper(tools: ResetTools): Promise<StepResult> {
  const left = await tools.closeHelpers(HELPER_LIMIT);
  if (left.length === 0) return { state: "done" };
  const answer = `gpuctl's own helper (PID ${left.join(", ")}) is stuck in the driver and keeps the GPU open`;
  return { state: "timed-out", answer };
}

/** A service that dies right after its start was started well as far as systemctl is concerned. */
async function startUnit(unit: string, tools: ResetTools): Promise<StepResult> {
  const started = ofUnit(await tools.orderUnit("start", unit, UNIT_LIMIT));
  if (started.state !== "done") return started;
  const isActive = await tools.readIsActive(unit, ASKING_LIMIT);
  if (!isActive.ok) {
    return { state: "failed", answer: `whether it runs is not known: ${formatAbsent(isActive)}` };
  }
  return isActive.value ? started : { state: "failed", answer: "systemctl started it, and it does not run" };
}

function ofAnswer(answer: ResetAnswer, run: ToolRun): StepResult {
  if (answer.kind === "done") return { state: "done" };
  const { refusal, explanation, next, text } = answer;
  const words = text === "" ? "" : `\n${text}`;
  const isLate = refusal === "timed-out" || refusal === "stuck";
  return {
    state: isLate ? "timed-out" : "failed",
    answer: `${explanation}; ${next}${describeLeft(run)}${words}`,
  };
}

/** Nobody ends a program that is late: whoever looks for it later has to know which it is. */
function describeLeft(run: ToolRun): string {
  return run.kind === "timed-out" && run.pid !== undefined ? `\nit is left to itself: PID ${run.pid}` : "";
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
      return {
        state: "timed-out",
        answer: `systemctl gave no answer within ${formatDuration(UNIT_LIMIT)}${describeLeft(run)}`,
      };
  }
}

/** What it wrote, to be put behind a sentence; nothing where it wrote nothing. */
function wordsOf(text: string): string {
  const words = truncate(printableLines(text).trim(), LONGEST_ANSWER);
  return words === "" ? "" : `: ${words}`;
}
