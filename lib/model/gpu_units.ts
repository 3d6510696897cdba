/** Services that keep GPUs open, or that a reset must take into account, by the names of their systemd units. */
import { GPU_SERVICE_KINDS, type GpuServiceKind } from "./reset_facts.ts";

/** Names of units by what they are, as packages and vendors call them; `*` stands for anything, as in systemctl(1). */
const UNITS: Readonly<Record<GpuServiceKind, readonly string[]>> = {
  "persistence-daemon": ["nvidia-persistenced"],
  // nvlsm, the subnet manager of NVLink 5, is started and stopped with it.
  "fabric-manager": ["nvidia-fabricmanager*", "nvidia-fabric-manager", "nvlsm", "nvidia-nvlsm"],
  dcgm: ["nvidia-dcgm", "dcgm", "nv-hostengine"],
  exporter: [
    "*dcgm-exporter*",
    "*nvidia-gpu-exporter*",
    "*nvidia_gpu_exporter*",
    "*nvidia-smi-exporter*",
    "*nvidia_smi_exporter*",
    "prometheus-nvidia-exporter",
  ],
  mps: ["nvidia-mps*", "nvidia-cuda-mps*", "mps-control*"],
  imex: ["nvidia-imex*"],
  "display-manager": ["display-manager", "gdm", "gdm3", "lightdm", "sddm", "lxdm", "xdm", "ly", "greetd"],
  telemetry: ["nvsm*", "gpud", "telegraf", "netdata", "all-smi*"],
  powerd: ["nvidia-powerd"],
  other: ["geopm*", "nvidia-gridd", "nvidia-vgpu-mgr", "nvidia-vgpud"],
};
const SUFFIX = ".service";

/** Every name, as an argument of systemctl. */
export const GPU_UNIT_GLOBS: readonly string[] = Object.values(UNITS).flat().map((name) =>
  `${name}${SUFFIX}`
);

const PATTERNS = GPU_SERVICE_KINDS.map((kind) => ({
  kind,
  pattern: new RegExp(`^(?:${UNITS[kind].map(toPattern).join("|")})${toPattern(SUFFIX)}$`),
}));

/** What a unit of this name is; `undefined` for one that has nothing to do with GPUs. */
export function findServiceKind(unit: string): GpuServiceKind | undefined {
  return PATTERNS.find(({ pattern }) => pattern.test(unit))?.kind;
}

function toPattern(glob: string): string {
  return glob.replaceAll(".", "\\.").replaceAll("*", ".*");
}
