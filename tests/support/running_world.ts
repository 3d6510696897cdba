/** A world in which something runs already, with a clock of its own. */
import type { IsolateMachineWorld } from "../../lib/action/isolate_machine.ts";
import type { IsolateRunningWorld } from "../../lib/action/isolate_running.ts";
import { type Uid, uid } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import { jobWorld, type JobWorldSpec } from "./job_world.ts";
import { observe } from "./machine.ts";

const USERS: ReadonlyMap<Uid, string> = new Map([[uid(0), "root"], [uid(1000), "alice"], [uid(1001), "bob"]]);

/** Builds the world. Who is not on the machine at a moment can then be read by nobody. */
export function runningWorld(
  spec: Pick<JobWorldSpec, "machine" | "caught">,
): IsolateRunningWorld & IsolateMachineWorld {
  const world = jobWorld(spec);
  const processes = () => {
    const now = spec.machine(world.clock.monotonic(), []);
    const { scan } = observe(now === "no answer" ? { processes: [] } : now);
    return scan.ok ? scan.value.processes : new Map();
  };
  return {
    ...world,
    population: {
      listPids: () => [...processes().keys()],
      readProcess: (id) => Promise.resolve(processes().get(id)),
      readUsers: () => known(USERS),
      readGroups: () => known(new Map()),
      [Symbol.dispose]: () => {},
    },
    origins: {
      readOwner: (id) => processes().get(id)?.owner ?? absent("exited"),
    },
  };
}
