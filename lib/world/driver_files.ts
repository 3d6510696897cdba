/** The driver as files show it: its module, its libraries, its nodes. None of them is opened or run. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf, messageOf } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import type { CompatLibrary, DriverFiles, KernelGpu, LibraryFile } from "../model/doctor_facts.ts";
import { readDeviceNodes } from "../proc/device_nodes.ts";
import { isDenied, isGone } from "../proc/files.ts";
import { readPciGpus } from "../proc/pci_gpus.ts";
import { LATE, within } from "../source/helper/within.ts";
import { readGpuIdentities } from "../source/identity_report.ts";
import { LIBRARY_PATHS } from "../source/nvml/library.ts";
import { parseModuleVersion } from "../source/nvml/versions.ts";
import { pathExists } from "./path_exists.ts";

/** How long a look below /usr/local may keep the rest waiting, in milliseconds. */
const COMPAT_WAIT = 500;

/** What files are read, and for whom. */
export interface DriverPlaces {
  /** The machine's root directory. */
  readonly root: string;
  /** LD_LIBRARY_PATH of programs that are started from here. */
  readonly libraryPath: string | undefined;
  /** The management library, where it lies in no known place. */
  readonly library?: string | undefined;
}

/** Reads all of it. What could not be read is absent. */
export async function readDriverFiles({ root, libraryPath, library }: DriverPlaces): Promise<DriverFiles> {
  const compat = await within(readCompatLibraries(root, libraryPath), COMPAT_WAIT);
  const directories = LIBRARY_PATHS.map((path) => dirname(path));
  const find = (name: string) => findLibraries(directories.map((directory) => join(directory, name)), root);
  return {
    ...readModule(root),
    pciGpus: readPciGpus(root),
    kernelGpus: readKernelGpus(root),
    managementLibraries: library === undefined ? find("libnvidia-ml.so.1") : findLibraries([library], "/"),
    cudaLibraries: find("libcuda.so.1"),
    compatLibraries: compat === LATE ? absent("timed-out", "/usr/local does not answer") : compat,
    nodes: readDeviceNodes(root),
  };
}

function readModule(root: string): Pick<DriverFiles, "isLoaded" | "moduleVersion"> {
  if (existsSync(join(root, "dev/dxg"))) {
    return {
      isLoaded: known(true),
      moduleVersion: absent("not-supported", "WSL uses the driver of Windows"),
    };
  }
  const path = join(root, "proc/driver/nvidia/version");
  try {
    const version = parseModuleVersion(readFileSync(path, "utf8"));
    return {
      isLoaded: known(true),
      moduleVersion: version === undefined
        ? absent("implausible", `${path} names no version`)
        : known(version),
    };
  } catch (error) {
    if (isGone(error)) return readModuleFolder(root);
    const reason = absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
    return { isLoaded: reason, moduleVersion: reason };
  }
}

/** Container runtimes may hide the one and not the other. */
function readModuleFolder(root: string): Pick<DriverFiles, "isLoaded" | "moduleVersion"> {
  const none = absent("not-supported", "no NVIDIA driver is loaded");
  const folder = join(root, "sys/module/nvidia");
  if (!existsSync(folder)) return { isLoaded: known(false), moduleVersion: none };
  try {
    const version = readFileSync(join(folder, "version"), "utf8").trim();
    return {
      isLoaded: known(true),
      moduleVersion: /^\d{2,}\.\d+(?:\.\d+)?$/.test(version)
        ? known(version)
        : absent("implausible", `${folder}/version names no version`),
    };
  } catch (error) {
    return {
      isLoaded: known(true),
      moduleVersion: absent(isDenied(error) ? "no-permission" : "failed", messageOf(error)),
    };
  }
}

function readKernelGpus(root: string): Reading<readonly KernelGpu[]> {
  const folder = join(root, "proc/driver/nvidia/gpus");
  const gpus = readGpuIdentities(folder);
  return gpus.length > 0
    ? known(gpus.map(({ name, minor }) => ({ name, minor })))
    : absent("not-reported", `${folder} names no GPU`);
}

/** Each file once, however many names lead to it. */
function findLibraries(paths: readonly string[], root: string): Reading<readonly LibraryFile[]> {
  const found = new Map<string, LibraryFile>();
  for (const path of paths) {
    try {
      const real = realpathSync(join(root, path));
      if (!found.has(real)) found.set(real, { path, version: versionOf(real) });
    } catch (error) {
      if (!isGone(error) && errnoOf(error) !== "ENOTDIR") {
        return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
      }
    }
  }
  return known([...found.values()]);
}

/** `libcuda.so.580.159.04` */
function versionOf(path: string): Reading<string> {
  const version = /\.so\.(\d{2,}\.\d+(?:\.\d+)?)$/.exec(basename(path))?.[1];
  return version === undefined
    ? absent("not-reported", `${basename(path)} has no version in its name`)
    : known(version);
}

/** Below /usr/local, which may be a network's. */
async function readCompatLibraries(
  root: string,
  libraryPath: string | undefined,
): Promise<Reading<readonly CompatLibrary[]>> {
  const directory = join(root, "usr/local");
  const searched = (libraryPath ?? "").split(":");
  try {
    const toolkits = (await readdir(directory)).filter((name) => /^cuda(?:-\d+(?:\.\d+)?)?$/.test(name))
      .sort();
    const found = new Map<string, CompatLibrary>();
    for (const name of toolkits) {
      const path = `/usr/local/${name}/compat/libcuda.so.1`;
      if (!(await pathExists(join(root, path)))) continue;
      const real = await realpath(join(root, path));
      if (found.has(real)) continue;
      found.set(real, { path, version: versionOf(real), isOnLibraryPath: searched.includes(dirname(path)) });
    }
    return known([...found.values()]);
  } catch (error) {
    if (isGone(error)) return known([]);
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}
