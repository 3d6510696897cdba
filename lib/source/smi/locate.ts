import { accessSync, constants, statSync } from "node:fs";

/** A place where nvidia-smi is installed, and where its library lies if the loader does not know that by itself. */
export interface SmiPlace {
  readonly path: string;
  readonly libraries?: string;
}

/** Where nvidia-smi is, by who put it there. */
export const SMI_PLACES: readonly SmiPlace[] = [
  { path: "/usr/bin/nvidia-smi" }, // Debian, Ubuntu, Fedora, RHEL, SUSE, Arch, containers of the NVIDIA toolkit
  { path: "/usr/lib/wsl/lib/nvidia-smi" }, // WSL
  { path: "/usr/local/nvidia/bin/nvidia-smi", libraries: "/usr/local/nvidia/lib64" }, // Older runtimes, GKE's plugin
  { path: "/home/kubernetes/bin/nvidia/bin/nvidia-smi", libraries: "/home/kubernetes/bin/nvidia/lib64" }, // GKE, node
  { path: "/opt/bin/nvidia-smi" }, // Flatcar
  { path: "/usr/local/bin/nvidia-smi" }, // Talos, hand-made images
  { path: "/run/current-system/sw/bin/nvidia-smi" }, // NixOS
];

/**
 * Finds nvidia-smi at a known place, or in the absolute directories of `searchPath`. Root hands in no search path: it
 * would run whatever somebody put into a directory on it.
 */
export function findSmi(
  { searchPath = "", places = SMI_PLACES }: {
    readonly searchPath?: string;
    readonly places?: readonly SmiPlace[];
  } = {},
): SmiPlace | undefined {
  const searched = searchPath.split(":").filter((directory) => directory.startsWith("/"))
    .map((directory): SmiPlace => ({ path: `${directory}/nvidia-smi` }));
  return [...places, ...searched].find(({ path }) => isProgram(path));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // Not there, or not for this user: either way it cannot be run from here.
  }
}
