/** Which holders a person has named. A name narrows what is ended; a job's or a container's also lets its insides be judged. */
import type { GpuUuid } from "../core/ids.ts";
import type { Absent } from "../core/reading.ts";
import type { Process } from "../model/process.ts";
import type { EndingPolicy } from "./ending_policy.ts";
import type { Facts } from "./facts.ts";

/** Docker, Podman and the kubelet show this much of a container's id. Less of it may be several containers'. */
const SHORT_ID = 12;

/** Names by which a person chooses processes. All that are given must fit. */
export type OwnerNames = Pick<EndingPolicy, "users" | "container" | "slurmJob" | "unit" | "cgroup">;

/** Says what keeps a holder out of the selection; `undefined` when it is in, or when nothing was named. */
export function whyNotChosen(facts: Facts, policy: EndingPolicy): string | undefined {
  const { process } = facts;
  if (policy.pids && !policy.pids.has(process.pid)) return "was not asked for (--pid)";
  if (policy.gpus && !gpusHeld(facts).some((gpu) => policy.gpus?.has(gpu))) {
    return "was not asked for (--gpu)";
  }
  return whyNotNamed(process, policy);
}

/** Says which name does not fit a process; `undefined` when all do. One that cannot be read fits no name. */
export function whyNotNamed(process: Pick<Process, "user" | "owner">, names: OwnerNames): string | undefined {
  const owner = process.owner.ok ? process.owner.value : undefined;
  if (names.users && !(process.user.ok && names.users.has(process.user.value))) {
    return "was not asked for (--user)";
  }
  if (names.container !== undefined && !isOfNamedContainer(process, names)) {
    return "was not asked for (--container)";
  }
  if (names.slurmJob !== undefined && owner?.slurmJob !== names.slurmJob) {
    return "was not asked for (--slurm-job)";
  }
  if (names.unit !== undefined && owner?.unit !== names.unit) return "was not asked for (--unit)";
  if (names.cgroup !== undefined && !isInCgroup(owner?.cgroup, names.cgroup)) {
    return "was not asked for (--cgroup)";
  }
  return undefined;
}

/** Why it cannot be told whether the names fit a process; `undefined` where it can. */
export function whyUntold(
  { user, owner }: Pick<Process, "user" | "owner">,
  { users, container, slurmJob, unit, cgroup }: OwnerNames,
): Absent | undefined {
  const isByOwner = [container, slurmJob, unit, cgroup].some((name) => name !== undefined);
  if (isByOwner && !owner.ok) return owner;
  // A user whom the machine's own list does not have is none of those whose name was looked up there.
  return users !== undefined && !user.ok && user.why !== "not-reported" ? user : undefined;
}

/** Where its memory is. Having a GPU open or mapped says little: CUDA does that with every GPU it may see. */
function gpusHeld({ contexts, deadContexts, devices }: Facts): readonly GpuUuid[] {
  const held = [...contexts, ...(contexts.length > 0 ? [] : deadContexts)].map(({ gpu }) => gpu.uuid);
  return held.length > 0 ? held : devices.map(({ gpu }) => gpu);
}

/** Says whether a process is the payload of the container that was named. */
export function isOfNamedContainer(
  { owner }: Pick<Process, "owner">,
  { container: named }: Pick<OwnerNames, "container">,
): boolean {
  const own = owner.ok ? owner.value.container : undefined;
  if (own === undefined || own.isMonitor || named === undefined) return false;
  return isNameOfContainer(named, own.id);
}

/** Says whether a text is a container's id or name, or enough of the beginning of its id. */
export function isNameOfContainer(text: string, id: string): boolean {
  const isHash = /^[0-9a-f]{32,}/.test(id);
  return id === text || (isHash && text.length >= SHORT_ID && id.startsWith(text));
}

/** Says whether a person has named the process, or the job or container that it belongs to. */
export function isNamed(process: Process, policy: EndingPolicy): boolean {
  if (policy.pids?.has(process.pid)) return true;
  const job = process.owner.ok ? process.owner.value.slurmJob : undefined;
  return (job !== undefined && job === policy.slurmJob) || isOfNamedContainer(process, policy);
}

/** Says whether a cgroup is the named one or below it. */
export function isInCgroup(path: string | undefined, named: string): boolean {
  if (path === undefined || named === "") return false;
  return path === named || path.startsWith(named.endsWith("/") ? named : `${named}/`);
}
