/** The part of `gpuctl verify-isolation` that judges a whole machine. Loaded when there are rules. */
import { isolateMachine } from "../lib/action/isolate_machine.ts";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { cannotRead } from "../lib/core/file_errors.ts";
import type { RuleMistake } from "../lib/model/isolation_rules.ts";
import type { World } from "../lib/world/ports.ts";
import { refuseMistakes } from "./mistakes.ts";
import { liveSource } from "./options.ts";
import { parseRuleFile } from "./rule_file.ts";
import { type RunningOptions, tellVerdict, tellWatch, watchOf } from "./verify_isolation_watch.ts";

/**
 * Judges everybody by the rules of a file, reports, and gives the ending.
 *
 * @throws {GpuctlError} `usage` with everything in the file that makes no sense
 */
export async function isolateMachineCommand(
  path: string,
  options: RunningOptions,
  world: World,
): Promise<Ending> {
  const source = liveSource(options.source, "judge what runs");
  const file = parseRuleFile(readRules(path, world));
  const refuse = (mistakes: readonly RuleMistake[]) => refuseMistakes(path, mistakes);
  tellWatch(options, world);
  using population = await world.openPopulation();
  try {
    const outcome = await isolateMachine({
      ...{ file, source, threshold: options.threshold },
      ...watchOf(options),
      check: ({ mistakes }) => refuse(mistakes),
    }, { ...world, population });
    return await tellVerdict(outcome, options, world);
  } catch (error) {
    // What makes no sense on any machine is told of also where there is no driver to hold the rest against.
    if (error instanceof GpuctlError && error.failure === "unavailable") refuse(file.mistakes);
    throw error;
  }
}

function readRules(path: string, { files }: Pick<World, "files">): string {
  try {
    return files.readText(path);
  } catch (error) {
    throw cannotRead(path, error, { as: "the rules" });
  }
}
