/** What gives GPUs to containers on this machine, by the files that are installed. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { bytes } from "../core/units.ts";
import type { CdiSpec, ContainerTools } from "../model/doctor_facts.ts";
import { readRegularFile } from "../native/regular_file.ts";
import { isDenied, isGone } from "../proc/files.ts";
import { pathExists } from "./path_exists.ts";

const PROGRAM_FOLDERS = [
  "usr/bin",
  "usr/local/bin",
  "usr/sbin",
  "usr/local/nvidia/toolkit",
  "run/current-system/sw/bin",
];
/** Engines by the program that stands for each. */
const ENGINES = { docker: "dockerd", containerd: "containerd", podman: "podman" } as const;
const TOOLKIT = ["nvidia-ctk", "nvidia-container-runtime", "nvidia-container-runtime-hook"];
/** Where engines look for descriptions of devices (CDI specification, "cdi-spec-dirs"). */
const SPEC_FOLDERS = ["etc/cdi", "var/run/cdi"];
const SPEC_BYTES = bytes(4 * 1024 ** 2);
/** Files of the driver that a description mounts: `libcuda.so.580.159.04`. */
const DRIVER_FILE = /\blib(?:cuda|nvidia-ml)\.so\.(\d{2,}\.\d+(?:\.\d+)?)\b/g;

/**
 * Reads what is installed.
 *
 * @param root the machine's root directory
 */
export async function readContainerTools(root: string): Promise<ContainerTools> {
  const [engines, toolkit] = await Promise.all([
    findPrograms(root, Object.values(ENGINES)),
    findPrograms(root, TOOLKIT),
  ]);
  return {
    engines: Object.entries(ENGINES).filter(([, program]) => engines.has(program)).map(([name]) => name),
    toolkit: TOOLKIT.filter((program) => toolkit.has(program)),
    cdiSpecs: await readSpecs(root),
  };
}

async function findPrograms(root: string, programs: readonly string[]): Promise<ReadonlySet<string>> {
  const found = await Promise.all(programs.map(async (program) => {
    const places = PROGRAM_FOLDERS.map((folder) => pathExists(join(root, folder, program)));
    return (await Promise.all(places)).includes(true) ? [program] : [];
  }));
  return new Set(found.flat());
}

async function readSpecs(root: string): Promise<Reading<readonly CdiSpec[]>> {
  const specs: CdiSpec[] = [];
  for (const folder of SPEC_FOLDERS) {
    try {
      const names = readdirSync(join(root, folder)).filter((name) =>
        /^.*nvidia.*\.(?:ya?ml|json)$/.test(name)
      ).sort();
      for (const name of names) {
        specs.push({ path: `/${folder}/${name}`, driverVersions: await readSpec(join(root, folder, name)) });
      }
    } catch (error) {
      if (!isGone(error)) return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
    }
  }
  return known(specs);
}

async function readSpec(path: string): Promise<Reading<readonly string[]>> {
  try {
    const text = await readRegularFile(path, SPEC_BYTES);
    return known([...new Set(Array.from(text.matchAll(DRIVER_FILE), ([, version = ""]) => version))]);
  } catch (error) {
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}
