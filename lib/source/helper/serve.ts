/** The helper's own side: a process that makes the driver calls, so that one that never returns takes nobody with it. */
import { readSync, writeSync } from "node:fs";
import { errnoOf, messageOf } from "../../core/errors.ts";
import { absent, type Reading } from "../../core/reading.ts";
import type { DriverReport } from "../../model/gpu.ts";
import type { LookExtras } from "../../world/ports.ts";
import { bindToParent } from "./bind_to_parent.ts";
import { AnswerWriter, type HelperRequest, type HelperStart, parseQuestion, parseStart } from "./frames.ts";

/** A source that was opened once and is read again and again. */
export interface HelperSource {
  read(extras: LookExtras): Reading<DriverReport> | Promise<Reading<DriverReport>>;
}

/** How each source is opened. Each loads its own code: the helper that reads one need not load the other. */
export type HelperSources = {
  readonly [Name in HelperRequest["source"]]: (
    request: Extract<HelperRequest, { source: Name }>,
  ) => Promise<Reading<HelperSource>>;
};

/**
 * Answers one question for each line of standard input until that ends. The source is opened before the first question
 * is there, and once for all.
 *
 * @param argument what `encodeStart` wrote
 * @param sources how to open each source
 */
export async function serveHelper(
  argument: string | undefined,
  sources: HelperSources,
): Promise<"ok" | "usage"> {
  const start = findStart(argument);
  if (start === undefined) return "usage";
  if (!await bindToParent(start.parentPid)) return "ok";
  let source: Reading<HelperSource> | undefined = await openSource(start.request, sources);
  const answers = new AnswerWriter();
  for (const line of readLines()) {
    const { id, ...extras } = parseQuestion(line);
    source ??= await openSource(start.request, sources);
    const report = await readSource(source, extras);
    if (!writeWhole(answers.encode(id, report))) return "ok";
    // A driver may be loaded between two questions.
    if (!source.ok) source = undefined;
  }
  return "ok";
}

function findStart(argument: string | undefined): HelperStart | undefined {
  try {
    return parseStart(argument ?? "");
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function openSource(request: HelperRequest, sources: HelperSources): Promise<Reading<HelperSource>> {
  switch (request.source) {
    case "nvml":
      return sources.nvml(request);
    case "sim":
      return sources.sim(request);
  }
}

async function readSource(
  source: Reading<HelperSource>,
  extras: LookExtras,
): Promise<Reading<DriverReport>> {
  if (!source.ok) return source;
  try {
    return await source.value.read(extras);
  } catch (error) {
    // A bug of ours. Nobody reads this process's standard error, so it is told where it will be read.
    return absent("failed", `bug in the helper process: ${messageOf(error)}`);
  }
}

/** Standard input, line by line. Blocks: there is nothing else for this process to do. */
function* readLines(): Generator<string> {
  const decoder = new TextDecoder();
  const part = new Uint8Array(4096);
  let text = "";
  for (;;) {
    const length = readSync(0, part);
    if (length === 0) return;
    const lines = (text + decoder.decode(part.subarray(0, length), { stream: true })).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}

/** Writes to standard output; says whether anybody still reads it. */
function writeWhole(text: string): boolean {
  let rest = new TextEncoder().encode(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
    return true;
  } catch (error) {
    if (errnoOf(error) === "EPIPE") return false;
    throw error;
  }
}
