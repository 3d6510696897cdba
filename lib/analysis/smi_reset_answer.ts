/**
 * What nvidia-smi's answer to a reset means. Success is claimed only for its own words: never for the absence of an error.
 * Texts are those of the programs of drivers 390 to 595; all of them go to standard output.
 */
import { type BusId, parseBusId } from "../core/ids.ts";
import { printableLines, truncate } from "../core/text.ts";
import { explainStatus } from "../model/smi_status.ts";
import type { ToolRun } from "../model/tool_run.ts";
import { type Question, type Refused, RESET, type ResetRefusal, SETTER } from "./smi_refusals.ts";

export type { ResetRefusal };

export type ResetAnswer =
  | { readonly kind: "done" }
  | {
    readonly kind: "refused";
    readonly refusal: ResetRefusal;
    readonly explanation: string;
    /** The one thing to do next. */
    readonly next: string;
    /** For `linked`: the indexes that nvidia-smi wants to be named as well. */
    readonly indexes: readonly number[];
    /** What it wrote, safe to print. */
    readonly text: string;
  };

/** Longer than any answer of nvidia-smi about eight GPUs. */
const LONGEST_TEXT = 2000;
const SUCCESS = /^\s*GPU ([0-9A-F:.]+) was successfully reset\.\s*$/gim;

/** Judges the answer to `-r`: done only with status 0 and one line of success for each GPU that was named. */
export function judgeResetAnswer(run: ToolRun, busIds: readonly BusId[]): ResetAnswer {
  const failure = judgeRun(run, RESET);
  if (failure !== undefined) return failure;
  const text = run.kind === "ended" ? run.text : "";
  const reset = new Set([...text.matchAll(SUCCESS)].flatMap(([, address]) => readAddress(address)));
  const missing = busIds.filter((busId) => !reset.has(busId));
  if (busIds.length > 0 && missing.length === 0 && findPattern(text, RESET) === undefined) {
    return { kind: "done" };
  }
  return findPattern(text, RESET) ?? refuse(text, {
    refusal: "unfinished",
    explanation: `it ended well and did not say that it reset ${missing.join(", ") || "any GPU"}`,
    next: "look at the GPU: gpuctl snapshot; if it is not well, reboot",
  });
}

/** Judges the answer to a setter (`-pm`, `-rgc` and the like): done with status 0 and no word of a refusal. */
export function judgeSetterAnswer(run: ToolRun): ResetAnswer {
  const failure = judgeRun(run, SETTER);
  if (failure !== undefined) return failure;
  return (run.kind === "ended" ? findPattern(run.text, SETTER) : undefined) ?? { kind: "done" };
}

/** What an answer comes to when the program did not end with status 0. */
function judgeRun(run: ToolRun, question: Question): ResetAnswer | undefined {
  switch (run.kind) {
    case "not-started":
      return refuse("", {
        refusal: "not-started",
        explanation: `nvidia-smi cannot be run: ${run.message}`,
        next: "install the driver's tools",
      });
    case "timed-out":
      return refuse("", {
        refusal: "timed-out",
        explanation: `nvidia-smi gave no answer in time: ${question.doubt}`,
        next: "look at the GPU: gpuctl snapshot; if that hangs too, reboot",
      });
    case "too-long":
      return refuse("", {
        refusal: "unfinished",
        explanation: `nvidia-smi wrote more than an answer can be: ${question.doubt}`,
        next: "look at the GPU: gpuctl snapshot",
      });
    case "stuck":
      return refuse("", {
        refusal: "stuck",
        explanation: `nvidia-smi (PID ${run.pid}) waits in the driver and no signal reaches it`,
        next: "look again in a minute; if it stays, reboot",
      });
    case "ended":
      return judgeEnd(run, question);
  }
}

function judgeEnd(
  { status, signal, text }: Extract<ToolRun, { kind: "ended" }>,
  question: Question,
): ResetAnswer | undefined {
  if (status === 0 && signal === undefined) return undefined;
  if (signal !== undefined || status === undefined) {
    return refuse(text, {
      refusal: "signal",
      explanation: `nvidia-smi was ended by ${signal ?? "a signal"}: ${question.doubt}`,
      next: "look at the GPU: gpuctl snapshot; if it is not well, reboot",
    });
  }
  const told = findPattern(text, question);
  if (told !== undefined) return told;
  const { meaning, next } = explainStatus(status);
  return refuse(text, {
    refusal: status === 4 ? "permission" : "status",
    explanation: `nvidia-smi ended with status ${status}: ${meaning}`,
    next,
  });
}

function findPattern(text: string, { patterns }: Question): ResetAnswer | undefined {
  const found = patterns.find(({ words }) => words.test(text));
  return found === undefined ? undefined : refuse(text, found);
}

function refuse(text: string, { refusal, explanation, next }: Refused): ResetAnswer {
  return {
    kind: "refused",
    refusal,
    explanation,
    next,
    indexes: refusal === "linked" ? indexesIn(text) : [],
    text: truncate(printableLines(text.replace(/\r\n/g, "\n").trim()), LONGEST_TEXT),
  };
}

/** The indexes behind `Please append the following device indexes`. */
function indexesIn(text: string): number[] {
  const [, list = ""] = /device ind(?:ex|exes|ices)\b[^0-9]*([0-9][0-9,\s]*)/i.exec(text) ?? [];
  return [...list.matchAll(/\d+/g)].map(([digits]) => Number(digits)).filter((index) => index < 65_536);
}

/** Hostile or broken text names no GPU that was asked for. */
function readAddress(address: string | undefined): BusId[] {
  try {
    return [parseBusId(address ?? "")];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
