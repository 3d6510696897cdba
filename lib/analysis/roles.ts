/**
 * What a process is to the machine. A role needs the executable in a directory of the system (or a unit) to agree with
 * the name: a training script called `Xorg` is not a display, and a driver daemon run from somebody's home is nothing
 * we know.
 */
import type { Process } from "../model/process.ts";
import { programOf } from "./lineage.ts";

export type Role = "display" | "mps-server" | "service";

export type RoleFinding =
  | {
    readonly kind: "role";
    readonly role: Role;
    readonly evidence: string;
    readonly unit: string | undefined;
  }
  | { readonly kind: "suspicious"; readonly evidence: string };

/** Names of programs; one that ends in `*` stands for all that begin so. */
const NAMES: Readonly<Record<Role, readonly string[]>> = {
  display: [
    ...["Xorg", "Xwayland", "X", "Xvfb", "gnome-shell", "gnome-session*", "kwin_x11", "kwin_wayland"],
    ...["plasmashell", "mutter", "weston", "sway", "Hyprland", "gamescope", "cinnamon", "xfwm4", "compiz"],
    ...["sddm", "sddm-greeter", "gdm*", "lightdm*", "nvidia-settings"],
  ],
  "mps-server": ["nvidia-cuda-mps-server", "nvidia-cuda-mps-control"],
  service: [
    ...["nvidia-persistenced", "nv-fabricmanager", "nvlsm", "nvidia-imex", "nvidia-powerd", "nvidia-sleep*"],
    ...["nvidia-gridd", "nvidia-topologyd", "nvidia-vgpud", "nvidia-vgpu-mgr", "nvidia-cdi-refresh", "nvsm*"],
    ...["nv-hostengine", "dcgm*", "node_exporter", "prometheus-node-exporter", "telegraf", "gpud"],
    ...["node-problem-detector", "netdata", "zabbix_agentd", "nvidia-device-plugin", "gpu-feature-discovery"],
    ...["nvidia-mig-manager", "nvidia-operator-validator", "kubelet", "containerd", "containerd-shim*"],
    ...["dockerd", "crio", "conmon", "runc", "crun", "slurmd", "slurmstepd", "pbs_mom", "sbatchd", "res"],
    ...["lim", "sge_execd", "condor_*", "raylet", "gcs_server", "flux-broker", "sshd", "sshd-session"],
    ...["systemd", "systemd-*", "dbus-daemon", "dbus-broker", "qemu-*", "libvirtd", "virtqemud"],
    ...["firecracker", "cloud-hypervisor", "runsc*", "gvisor*", "jupyterhub"],
  ],
};
/** The same names of all roles, for who must tell a part of the system from somebody's own program. */
export const SYSTEM_PROGRAMS: readonly string[] = Object.values(NAMES).flat();
const ROLES = ["display", "mps-server", "service"] as const;
const SYSTEM_DIRECTORY = /^\/(?:usr|bin|sbin|lib|lib64|opt|nix\/store|snap|app|gnu\/store)\//;
/** Units that start other people's commands: being inside one says nothing about who a process belongs to. */
const LAUNCHERS = new RegExp(
  `^(?:${
    [
      "cron|crond|atd|anacron|ssh|sshd|slurmd|jupyterhub|user@\\d+|getty@.*|serial-getty@.*|console-getty",
      "docker|containerd|crio|podman.*|kubelet|rc-local|pbs|pbs_jobs|lsfd|condor|htcondor|sgeexecd.*|flux",
    ].join("|")
  })\\.service$`,
);
/** TASK_COMM_LEN of linux/sched.h without the NUL: a longer name is cut. */
const LONGEST_COMM = 15;

/** Finds what a process is to the machine, if anything. */
export function findRole(process: Process): RoleFinding | undefined {
  return findNamedRole(process) ?? findUnitRole(process);
}

/** The same by the name of its program alone: a unit may be anybody's. */
export function findNamedRole(process: Process): RoleFinding | undefined {
  const program = programOf(process);
  const named = ROLES.find((role) => NAMES[role].some((name) => isNamed(process, name)));
  if (named === undefined) return undefined;
  if (!process.executable.ok) {
    return {
      kind: "suspicious",
      evidence: `calls itself ${program}; its executable cannot be read to confirm that`,
    };
  }
  const path = process.executable.value;
  if (SYSTEM_DIRECTORY.test(path)) {
    return { kind: "role", role: named, evidence: `runs ${path}`, unit: managingUnit(process) };
  }
  return { kind: "suspicious", evidence: `is named like a part of the system, but runs from ${path}` };
}

function findUnitRole(process: Process): RoleFinding | undefined {
  const unit = managingUnit(process);
  if (unit === undefined) return undefined;
  return { kind: "role", role: "service", evidence: `runs in the systemd unit ${unit}`, unit };
}

function isNamed(process: Process, name: string): boolean {
  const program = programOf(process);
  if (name.endsWith("*")) return program.startsWith(name.slice(0, -1));
  const isCut = !process.executable.ok && program.length >= LONGEST_COMM;
  return isCut ? name.startsWith(program) : program === name;
}

/** The service unit that starts and stops a process, unless it is one that only launches other people's commands. */
function managingUnit(process: Process): string | undefined {
  const unit = process.owner.ok ? process.owner.value.unit : undefined;
  return unit?.endsWith(".service") && !LAUNCHERS.test(unit) ? unit : undefined;
}
