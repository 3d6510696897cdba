/** Options that several commands share, each said once, and how their texts are read. */
import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { GpuctlError } from "../lib/core/errors.ts";
import { milliseconds, parseDuration, parseSize } from "../lib/core/units.ts";
import { type GpuSelector, parseGpuSelectors, selectGpus } from "../lib/analysis/select_gpus.ts";
import type { Gpu } from "../lib/model/gpu.ts";
import { type LiveSource, parseSourceChoice, type SourceChoice } from "../lib/model/source_choice.ts";

/** A command's own commander object, with its action still to be set. */
export function newCommand(name: string, summary: string): Command {
  return new Command(name).summary(summary).allowExcessArguments(false).showHelpAfterError(false);
}

/** `--source`: nvml unless told. */
export function sourceOption() {
  return new Option("--source <where>", "nvml, nvidia-smi, sim:DIR, a saved file, or - for standard input")
    .argParser(parsedBy(parseSourceChoice)).default<SourceChoice>({ kind: "nvml" }, "nvml");
}

/** `--gpu`: all GPUs unless told. */
export function gpuOption(
  description = "only these: indexes, ranges, UUIDs (or their beginning), PCI addresses",
) {
  return new Option("--gpu <list>", description).argParser(parsedBy(parseGpuSelectors));
}

/** `--deadline`: how long one look at the driver may take. */
export function deadlineOption(description = "how long the driver may take to answer") {
  return new Option("--deadline <time>", description).argParser(
    parsedBy(parseDuration),
  )
    .default(milliseconds(5000), "5s");
}

/** An option whose value is a duration such as `10s`. */
export function durationOption<const Usage extends string>(flags: Usage, description: string) {
  return new Option(flags, description).argParser(parsedBy(parseDuration));
}

/** An option whose value is a size such as `10MiB`. */
export function sizeOption<const Usage extends string>(flags: Usage, description: string) {
  return new Option(flags, description).argParser(parsedBy(parseSize));
}

/** Turns a parser of ours into one of commander's: the error names the option, the sentence is the parser's. */
export function parsedBy<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new InvalidArgumentError(error.message);
    }
  };
}

/**
 * The GPUs that `--gpu` names among those there are; all of them without the option.
 *
 * @throws {GpuctlError} if one is not there.
 */
export function chooseGpus(
  gpus: readonly Gpu[],
  selectors: readonly GpuSelector[] | undefined,
): readonly Gpu[] {
  if (selectors === undefined) return gpus;
  const selection = selectGpus(gpus, selectors);
  if (!selection.ok) {
    throw new GpuctlError("unavailable", selection.message, { hint: "gpuctl snapshot lists the GPUs" });
  }
  return selection.gpus;
}

/**
 * The source of a command that needs a live machine.
 *
 * @throws {GpuctlError} if a file was named.
 */
export function liveSource(source: SourceChoice, purpose: string): LiveSource {
  if (source.kind !== "file") return source;
  throw new GpuctlError("usage", `Cannot ${purpose} from ${source.path}: a file is no live machine`);
}
