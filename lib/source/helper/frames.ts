/** What is said between gpuctl and its helper process: one JSON line for a question, one for its answer. */
import { gpuUuid } from "../../core/ids.ts";
import type { Reading } from "../../core/reading.ts";
import { CLOCK_KINDS, type ClockOrder } from "../../model/clock_order.ts";
import type { DriverReport } from "../../model/gpu.ts";
import type { LookExtras } from "../../world/ports.ts";
import { decodeReport } from "./decode_report.ts";
import { expectBoolean, expectNumber, expectOneOf, expectRecord, expectText, parseRecord } from "./expect.ts";

/** Said in every frame, so that a program of another version is never understood by accident. */
const PROTOCOL = "gpuctl.helper/1";

/** What the helper reads, settled when it is started. Paths are absolute. */
export type HelperRequest =
  /** `library` is the one file to open in place of the driver's own; for tests. */
  | {
    readonly source: "nvml";
    readonly library?: string;
    /** What to do before the first look. */
    readonly order?: ClockOrder;
  }
  | { readonly source: "sim"; readonly directory: string };

/** What a helper is started with. */
export interface HelperStart {
  readonly request: HelperRequest;
  /** Who started it. A helper whose parent is another one has been orphaned before it began. */
  readonly parentPid: number;
}

/** One question. `id` numbers the questions of one helper from 1. */
export interface Question extends LookExtras {
  readonly id: number;
}

/** One answer, with the number of its question. */
export interface Answer {
  readonly id: number;
  /** `same` where nothing differs from the answer before: of a job that is watched most answers are. */
  readonly report: Reading<DriverReport> | "same";
}

/** Writes the argument that follows the word `helper`. */
export function encodeStart({ request, parentPid }: HelperStart): string {
  return JSON.stringify({ protocol: PROTOCOL, parentPid, ...request });
}

/** @throws {SyntaxError} if the text is not from `encodeStart` of this version. */
export function parseStart(text: string): HelperStart {
  const frame = parseFrame(text);
  return { parentPid: expectNumber(frame.parentPid, "parentPid"), request: decodeRequest(frame) };
}

function decodeRequest(frame: Readonly<Record<string, unknown>>): HelperRequest {
  const source = expectOneOf(frame.source, "source", ["nvml", "sim"]);
  if (source === "sim") return { source, directory: expectPath(frame.directory, "directory") };
  return {
    source,
    ...frame.library !== undefined && { library: expectPath(frame.library, "library") },
    ...frame.order !== undefined && { order: decodeOrder(expectRecord(frame.order, "order")) },
  };
}

function decodeOrder({ gpu, clocks }: Readonly<Record<string, unknown>>): ClockOrder {
  return { gpu: gpuUuid(expectText(gpu, "gpu")), clocks: expectOneOf(clocks, "clocks", CLOCK_KINDS) };
}

/** Writes a question as one line, its end included. */
export function encodeQuestion({ id, withUtilization, withHealth, withAccounting }: Question): string {
  return `${JSON.stringify({ protocol: PROTOCOL, id, withUtilization, withHealth, withAccounting })}\n`;
}

/** @throws {SyntaxError} if the line is no question of this version. */
export function parseQuestion(line: string): Question {
  const frame = parseFrame(line);
  return {
    id: expectNumber(frame.id, "id"),
    withUtilization: expectBoolean(frame.withUtilization, "withUtilization"),
    // Left out unless they are asked for.
    ...isAsked(frame, "withHealth") && { withHealth: true },
    ...isAsked(frame, "withAccounting") && { withAccounting: true },
  };
}

function isAsked(frame: Readonly<Record<string, unknown>>, name: string): boolean {
  return frame[name] !== undefined && expectBoolean(frame[name], name);
}

/** Writes the answers of one helper, each as one line, its end included. */
export class AnswerWriter {
  #last: string | undefined;

  encode(id: number, report: Reading<DriverReport>): string {
    const text = JSON.stringify(report);
    const isSame = text === this.#last;
    this.#last = text;
    return `{"protocol":"${PROTOCOL}","id":${id},"report":${isSame ? '"same"' : text}}\n`;
  }
}

/** @throws {SyntaxError} if the line is no answer of this version, or any value in it is not what its type says. */
export function parseAnswer(line: string): Answer {
  const { id, report } = parseFrame(line);
  return { id: expectNumber(id, "id"), report: report === "same" ? report : decodeReport(report) };
}

function parseFrame(text: string): Readonly<Record<string, unknown>> {
  const frame = parseRecord(text);
  expectOneOf(frame.protocol, "protocol", [PROTOCOL]);
  return frame;
}

function expectPath(value: unknown, name: string): string {
  const path = expectText(value, name);
  if (!path.startsWith("/")) {
    throw new SyntaxError(`Cannot take "${path}" for ${name}: expected an absolute path`);
  }
  return path;
}
