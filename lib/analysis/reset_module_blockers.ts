/** Kernel modules that keep a GPU in use with no process on it. */
import { formatAbsent } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import type { Blocker, BlockerClearer, BlockerKind } from "../model/reset.ts";
import type { KernelModule } from "../model/reset_facts.ts";
import { machineGpus, nameProcess, type ResetInput, scanOf } from "./reset_input.ts";

/** Modules whose users pin memory of a GPU, or serve virtual machines from it. */
const PINNING = [
  "nvidia_peermem",
  "nv_peer_mem",
  "nvidia_fs",
  "gdrdrv",
  "nvidia_vgpu_vfio",
  "nvidia_cspmu",
];
type Sentence = readonly [who: string, why: string, remedy: string];

/** Everything that uses GPUs through the kernel. */
export function findModuleBlockers(input: ResetInput): Blocker[] {
  return [...findModules(input), ...findDisplayClients(input)];
}

/** Users of these modules keep GPUs in use without a descriptor. Which GPU it is the modules do not say. */
function findModules(input: ResetInput): Blocker[] {
  const { facts: { modules, drmModeset } } = input;
  if (!modules.ok) {
    return [of("module", "warning", [
      "kernel modules",
      `which ones use the driver is not known: ${formatAbsent(modules)}`,
      "none needed: nvidia-smi refuses if one is in the way",
    ])];
  }
  const found = modules.value.filter(({ name, references }) => PINNING.includes(name) && references !== 0)
    .map((module) => describeModule(module, input));
  const drm = modules.value.find(({ name }) => name === "nvidia_drm");
  if (drm === undefined || (drmModeset.ok && !drmModeset.value)) return found;
  return [...found, drm.references ? describeDrmUsers(drm.references, input) : DRM_IS_LOADED];
}

const DRM_IS_LOADED = of("drm", "warning", [
  "nvidia_drm",
  "it may keep the GPU in use with no process on it (modeset)",
  "if nvidia-smi refuses: modprobe -r nvidia_drm",
]);

function describeModule({ name, references, usedBy }: KernelModule, input: ResetInput): Blocker {
  const by = usedBy.length > 0 ? ` by ${usedBy.join(", ")}` : "";
  if (references === undefined) {
    return of("module", "warning", [
      name,
      "it is loaded and may keep memory of a GPU; this kernel does not say whether it is in use",
      "none needed: nvidia-smi refuses if it is in the way",
    ]);
  }
  return of("module", clearerOf(input), [
    name,
    `it is in use (${references}${by}) and may keep memory of a GPU`,
    `end what uses it, then modprobe -r ${name}`,
  ]);
}

function describeDrmUsers(references: number, input: ResetInput): Blocker {
  return of("drm", clearerOf(input), [
    "nvidia_drm",
    `it has ${plural(references, "user")}: a display server or the console on a GPU`,
    "stop them, then modprobe -r nvidia_drm",
  ]);
}

/** On a machine with one GPU it can only be that one; on others nvidia-smi has the last word. */
function clearerOf(input: ResetInput): BlockerClearer {
  return machineGpus(input).length === 1 ? "nobody" : "warning";
}

/** Who has only the display driver's node open uses some GPU through the kernel. */
function findDisplayClients(input: ResetInput): Blocker[] {
  const scan = scanOf(input);
  if (scan === undefined) return [];
  return [...scan.uses].filter(([pid, uses]) =>
    !scan.reader.ownPids.includes(pid) && uses.some(({ node }) => node.kind === "modeset") &&
    !uses.some(({ node }) => node.kind === "gpu")
  ).map(([pid]) => ({
    ...of("drm", "warning", [
      nameProcess(pid, input),
      "has the display driver's node open (/dev/nvidia-modeset)",
      "if nvidia-smi refuses, end it",
    ]),
    pid,
  }));
}

function of(kind: BlockerKind, clearedBy: BlockerClearer, [who, why, remedy]: Sentence): Blocker {
  return { kind, who, why, remedy, clearedBy };
}
