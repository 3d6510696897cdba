/**
 * Which GPUs a reset takes together. Rules of nvidia-smi(1), `--gpu-reset`, drivers 390 to 595: before Ampere all GPUs that
 * NVLink joins go into one command; Ampere behind NVSwitches goes alone while Fabric Manager runs; Hopper and later go
 * alone.
 */
import { isTrue } from "../core/reading.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Blocker } from "../model/reset.ts";
import { machineGpus, nameGpus, type ResetInput } from "./reset_input.ts";

/** Names of nvmlDeviceGetArchitecture, oldest first. What is not here is newer. */
const GENERATIONS = [
  "Kepler",
  "Maxwell",
  "Pascal",
  "Volta",
  "Turing",
  "Ampere",
  "Ada",
  "Hopper",
  "Blackwell",
];

/** How a GPU is reset as far as its links go. */
export type LinkRule = "alone" | "together" | "unknown";

/** Says whether a GPU is of an earlier generation than another by name; `undefined` where its own is not known. */
export function isOlderThan(gpu: Gpu, generation: "Ampere" | "Hopper"): boolean | undefined {
  const architecture = gpu.health?.architecture;
  if (!architecture?.ok) return undefined;
  const place = GENERATIONS.indexOf(architecture.value);
  return place >= 0 && place < GENERATIONS.indexOf(generation);
}

/** How one GPU is to be reset. */
export function findLinkRule(gpu: Gpu, input: ResetInput): LinkRule {
  const links = hasLinks(gpu, input);
  if (links === false) return "alone";
  const isPreAmpere = isOlderThan(gpu, "Ampere");
  if (isPreAmpere === undefined) return "unknown";
  if (isPreAmpere) return links === undefined ? "unknown" : "together";
  if (isOlderThan(gpu, "Hopper") !== true) return "alone";
  const behindSwitch = gpu.health?.hasNvSwitch;
  if (!behindSwitch?.ok) return behindSwitch?.why === "not-supported" ? "alone" : "unknown";
  if (!behindSwitch.value) return "alone";
  const isManaged = isFabricManaged(input);
  return isManaged === undefined ? "unknown" : isManaged ? "alone" : "together";
}

/** Whether Fabric Manager runs; `undefined` where the services could not be read. */
export function isFabricManaged({ facts: { services } }: ResetInput): boolean | undefined {
  if (!services.ok) return undefined;
  return services.value.some(({ kind, isActive }) => kind === "fabric-manager" && isActive);
}

/** The chosen GPUs as they go into one command each; those that must go together share one. */
export function groupForReset(input: ResetInput): readonly (readonly Gpu[])[] {
  const bound = input.gpus.filter((gpu) => findLinkRule(gpu, input) === "together")
    .map((gpu) => new Set([gpu, ...linkedWith(gpu, input).gpus]));
  const groups: Gpu[][] = [];
  for (const gpu of input.gpus) {
    if (groups.some((group) => group.includes(gpu))) continue;
    const links = bound.find((each) => each.has(gpu));
    groups.push(links === undefined ? [gpu] : input.gpus.filter((each) => links.has(each)));
  }
  return groups;
}

/** The linked GPUs that were not named though they must be, and links of which too little is known. */
export function findLinkBlockers(input: ResetInput): Blocker[] {
  return input.gpus.flatMap((gpu): Blocker[] => {
    const rule = findLinkRule(gpu, input);
    if (rule === "alone") return [];
    if (rule === "unknown") {
      return [{
        gpu: gpu.uuid,
        kind: "nvlink-peer",
        who: "NVLink",
        why: "how it is linked, or its generation, is not known: it may have to be reset with others",
        remedy: "nvidia-smi names those that it misses; name them too",
        clearedBy: "warning",
      }];
    }
    const { gpus, strangers } = linkedWith(gpu, input);
    const missing = gpus.filter((each) => !input.gpus.includes(each));
    if (missing.length === 0 && strangers.length === 0) return [];
    const all = machineGpus(input).filter((each) =>
      each === gpu || gpus.includes(each) || input.gpus.includes(each)
    );
    const unread = strangers.map((busId) => `the GPU at ${busId}, which cannot be read`);
    return [{
      gpu: gpu.uuid,
      kind: "nvlink-peer",
      who: [...(missing.length > 0 ? [nameGpus(missing)] : []), ...unread].join(", "),
      why: "is linked to it by NVLink: nvidia-smi resets them only in one command",
      remedy: strangers.length > 0
        ? "reboot"
        : `name them all, once they are free: gpuctl reset-gpu ${all.map(({ index }) => index).join(" ")}`,
      clearedBy: "nobody",
    }];
  });
}

function hasLinks(gpu: Gpu, input: ResetInput): boolean | undefined {
  const { health } = gpu;
  if (neighboursOf(gpu, input).length > 0 || isTrue(health?.hasNvSwitch)) return true;
  if (health === undefined) return undefined;
  const { nvlinkPeers: peers, hasNvSwitch } = health;
  if (peers.ok && peers.value.length > 0) return true;
  const isNone = peers.ok || peers.why === "not-supported";
  return isNone && (hasNvSwitch.ok || hasNvSwitch.why === "not-supported") ? false : undefined;
}

/** GPUs at the other end of a link. One end may know of it while the other is too sick to tell. */
function neighboursOf(gpu: Gpu, input: ResetInput): Gpu[] {
  const leadsTo = (from: Gpu, to: Gpu) => {
    const peers = from.health?.nvlinkPeers;
    return peers?.ok === true && to.busId.ok && peers.value.includes(to.busId.value);
  };
  return machineGpus(input).filter((other) => other !== gpu && (leadsTo(gpu, other) || leadsTo(other, gpu)));
}

/** Everything that can be reached from a GPU over links, itself left out. Who is behind a switch reaches all who are. */
function linkedWith(
  start: Gpu,
  input: ResetInput,
): { readonly gpus: readonly Gpu[]; readonly strangers: readonly string[] } {
  const all = machineGpus(input);
  const reached = new Set<Gpu>([start]);
  const strangers = new Set<string>();
  for (const gpu of reached) {
    for (const neighbour of neighboursOf(gpu, input)) reached.add(neighbour);
    const peers = gpu.health?.nvlinkPeers;
    for (const busId of peers?.ok ? peers.value : []) {
      if (!all.some((each) => each.busId.ok && each.busId.value === busId)) strangers.add(busId);
    }
    if (!isTrue(gpu.health?.hasNvSwitch)) continue;
    for (const other of all) if (isTrue(other.health?.hasNvSwitch)) reached.add(other);
  }
  reached.delete(start);
  return { gpus: [...reached], strangers: [...strangers] };
}
