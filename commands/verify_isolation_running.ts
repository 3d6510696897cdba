/** The part of `gpuctl verify-isolation` that judges what runs already. Loaded when there is something. */
import { isolateRunning, type Named } from "../lib/action/isolate_running.ts";
import { allowedDevices } from "../lib/analysis/allowed_devices.ts";
import type { GpuSelector } from "../lib/analysis/select_gpus.ts";
import type { Ending } from "../lib/core/errors.ts";
import type { World } from "../lib/world/ports.ts";
import { chooseGpus, liveSource } from "./options.ts";
import { readLint } from "./verify_isolation_report.ts";
import { type RunningOptions, tellVerdict, tellWatch, watchOf } from "./verify_isolation_watch.ts";

export interface NamedOptions extends RunningOptions {
  /** What is theirs; without it, what their container or Slurm job was given. */
  readonly gpu?: readonly GpuSelector[] | undefined;
  readonly exclusive?: true | undefined;
  readonly lint?: readonly string[] | undefined;
}

/** Judges some processes, reports, and gives the ending. */
export async function isolateRunningCommand(
  named: Named,
  options: NamedOptions,
  world: World,
): Promise<Ending> {
  const { gpu: selectors, threshold, exclusive: isExclusive = false } = options;
  using population = await world.openPopulation();
  const lint = await readLint(options, world);
  tellWatch(options, world);
  const outcome = await isolateRunning({
    ...{ named, threshold, isExclusive },
    ...watchOf(options),
    source: liveSource(options.source, "judge what runs"),
    lint,
    allow: selectors && (({ gpus }) => allowedDevices(chooseGpus(gpus, selectors), selectors)),
  }, { ...world, population });
  return await tellVerdict(outcome, options, world);
}
