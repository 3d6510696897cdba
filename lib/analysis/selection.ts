/** Which holders a person has named. A name narrows what is ended; a job's or a container's also lets its insides be judged. */
import type { GpuUuid } from "../core/ids.ts";
import type { Process } from "../model/process.ts";
import type { EndingPolicy } from "./ending_policy.ts";
import type { Facts } from "./facts.ts";

/** Docker, Podman and the kubelet show this much of a container's id. Less of it may be several containers'. */
const SHORT_ID = 12;

/** Says what keeps a holder out of the selection; `undefined` when it is in, or when nothing was named. */
export function whyNotChosen(facts: Facts, policy: EndingPolicy): string | undefined {
  const { process } = facts;
  const owner = process.owner.ok ? process.owner.value : undefined;
  if (policy.pids && !policy.pids.has(process.pid)) return "was not named";
  if (policy.gpus && !gpusHeld(facts).some((gpu) => policy.gpus?.has(gpu))) return "is on another GPU";
  if (policy.users && !(process.user.ok && policy.users.has(process.user.value))) {
    return "belongs to another user";
  }
  if (policy.container !== undefined && !isOfNamedContainer(process, policy)) {
    return "is not of that container";
  }
  if (policy.slurmJob !== undefined && owner?.slurmJob !== policy.slurmJob) return "is not of that Slurm job";
  if (policy.unit !== undefined && owner?.unit !== policy.unit) return "is not of that unit";
  if (policy.cgroup !== undefined && !isInCgroup(owner?.cgroup, policy.cgroup)) {
    return "is not in that cgroup";
  }
  return undefined;
}

/** Where its memory is. Having a GPU open or mapped says little: CUDA does that with every GPU it may see. */
function gpusHeld({ contexts, deadContexts, devices }: Facts): readonly GpuUuid[] {
  const held = [...contexts, ...(contexts.length > 0 ? [] : deadContexts)].map(({ gpu }) => gpu.uuid);
  return held.length > 0 ? held : devices.map(({ gpu }) => gpu);
}

/** Says whether a process is the payload of the container that was named. */
export function isOfNamedContainer({ owner }: Process, { container: named }: EndingPolicy): boolean {
  const own = owner.ok ? owner.value.container : undefined;
  if (own === undefined || own.isMonitor || named === undefined) return false;
  const isHash = /^[0-9a-f]{32,}/.test(own.id);
  return own.id === named || (isHash && named.length >= SHORT_ID && own.id.startsWith(named));
}

/** Says whether a person has named the process, or the job or container that it belongs to. */
export function isNamed(process: Process, policy: EndingPolicy): boolean {
  if (policy.pids?.has(process.pid)) return true;
  const job = process.owner.ok ? process.owner.value.slurmJob : undefined;
  return (job !== undefined && job === policy.slurmJob) || isOfNamedContainer(process, policy);
}

function isInCgroup(path: string | undefined, named: string): boolean {
  if (path === undefined || named === "") return false;
  return path === named || path.startsWith(named.endsWith("/") ? named : `${named}/`);
}
