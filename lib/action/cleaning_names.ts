/** Whether there is whom a cleaning was told to look at: of somebody who does not exist "nothing to clean" says nothing. */
import { GpuctlError } from "../core/errors.ts";
import type { Pid } from "../core/ids.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { EndingPolicy } from "../analysis/ending_policy.ts";
import type { World } from "../world/ports.ts";

export type NamesWorld = Pick<World, "processes" | "openPopulation">;

/**
 * Refuses processes and users that do not exist. A container, a job or a unit that is over is not there any more either,
 * and asking for what it left is what these names are for.
 *
 * @throws {GpuctlError} `unavailable` for the first that is not there
 */
export async function refuseUnknownNames(
  { pids = new Set(), users }: Pick<EndingPolicy, "pids" | "users">,
  snapshot: Snapshot,
  world: NamesWorld,
): Promise<void> {
  const missing = [...pids].find((pid) => world.processes.findProcess(pid) === undefined);
  if (missing !== undefined) throw refuseProcess(missing, snapshot);
  if (users !== undefined) await refuseUnknownUsers(users, snapshot, world);
}

function refuseProcess(pid: Pid, { ghosts }: Snapshot): GpuctlError {
  const own = ghosts.filter((ghost) => ghost.pid === pid);
  if (own.length === 0) {
    return new GpuctlError("unavailable", `Cannot clean up PID ${pid}: there is no such process`, {
      hint: "gpuctl snapshot shows who holds what",
    });
  }
  const keepers = [...new Set(own.flatMap(({ likelyHolders }) => likelyHolders.map((each) => each.pid)))];
  return new GpuctlError(
    "unavailable",
    `Cannot clean up PID ${pid}: it is dead, and its memory is still held`,
    {
      hint: keepers.length === 0
        ? "nobody can be seen who keeps it: gpuctl snapshot says more"
        : `name who may keep it: gpuctl clean-zombies --pid ${keepers.join(",")}`,
    },
  );
}

/** A user whom the list does not have and who runs something all the same is known to somebody. */
async function refuseUnknownUsers(
  users: ReadonlySet<string>,
  { holders }: Snapshot,
  world: NamesWorld,
): Promise<void> {
  using population = await world.openPopulation();
  const list = population.readUsers();
  if (!list.ok) return;
  const names = new Set([
    ...list.value.values(),
    ...holders.flatMap(({ user }) => user.ok ? [user.value] : []),
  ]);
  const missing = [...users].find((name) => !names.has(name));
  if (missing === undefined) return;
  throw new GpuctlError(
    "unavailable",
    `Cannot clean up for the user "${missing}": this machine has no such user`,
    {
      hint: "a user of a directory service is named by none of their processes: name those with --pid",
    },
  );
}
