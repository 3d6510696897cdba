/** A world in which something runs already, with a clock of its own. */
import type { IsolateMachineWorld } from "../../lib/action/isolate_machine.ts";
import type { IsolateRunningWorld } from "../../lib/action/isolate_running.ts";
import { absent } from "../../lib/core/reading.ts";
import { jobWorld, type JobWorldSpec, populationOf } from "./job_world.ts";
import { observe } from "./machine.ts";

/** Builds the world. */
export function runningWorld(
  spec: Pick<JobWorldSpec, "machine" | "caught" | "mappedFiles">,
): IsolateRunningWorld & IsolateMachineWorld {
  const world = jobWorld(spec);
  const machine = () => spec.machine(world.clock.monotonic(), []);
  const population = populationOf(machine);
  return {
    ...world,
    population,
    origins: {
      readOwner(id) {
        const now = machine();
        const { scan } = observe(now === "no answer" ? { processes: [] } : now);
        return scan.ok ? scan.value.processes.get(id)?.owner ?? absent("exited") : scan;
      },
    },
  };
}
