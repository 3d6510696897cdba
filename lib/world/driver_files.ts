/** The driver as files show it: its module, its libraries, its nodes. None of them is opened or run. */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf, messageOf } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import type { CompatLibrary, DriverFiles, KernelGpu, LibraryFile } from "../model/doctor_facts.ts";
import { readDeviceNodes } from "../proc/device_nodes.ts";
import { isDenied, isGone } from "../proc/files.ts";
import { readPciGpus } from "../proc/pci_gpus.ts";
import { readGpuIdentities } from "../source/identity_report.ts";
import { LIBRARY_PATHS } from "../source/nvml/library.ts";
import { parseModuleVersion } from "../source/nvml/versions.ts";

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
export function readDriverFiles({ root, libraryPath, library }: DriverPlaces): DriverFiles {
  const directories = LIBRARY_PATHS.map((path) => dirname(path));
  const find = (name: string) => findLibraries(directories.map((directory) => join(directory, name)), root);
  return {
    ...readModule(root),
    pciGpus: readPciGpus(root),
    kernelGpus: readKernelGpus(root),
    managementLibraries: library === undefined ? find("libnvidia-ml.so.1") : findLibraries([library], "/"),
    cudaLibraries: find("libcuda.so.1"),
    compatLibraries: readCompatLibraries(root, libraryPath),
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

function readCompatLibraries(
  root: string,
  libraryPath: string | undefined,
): Reading<readonly CompatLibrary[]> {
  const directory = join(root, "usr/local");
  try {
    const toolkits = readdirSync(directory).filter((name) => /^cuda(?:-\d+(?:\.\d+)?)?$/.test(name)).sort();
    const files = findLibraries(toolkits.map((name) => `/usr/local/${name}/compat/libcuda.so.1`), root);
    if (!files.ok) return files;
    const searched = (libraryPath ?? "").split(":");
    return known(
      files.value.map((file) => ({ ...file, isOnLibraryPath: searched.includes(dirname(file.path)) })),
    );
  } catch (error) {
    if (isGone(error)) return known([]);
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}
