import { existsSync } from "node:fs";
import { messageOf } from "../../core/errors.ts";
import { type Absent, absent, known, type Reading, valueOf } from "../../core/reading.ts";
import { type NativeArg, type NativeFunction, type NativeLibrary, openLibrary } from "../../native/dlopen.ts";
import { type Nvml, type NvmlSymbol, SYMBOLS } from "./calls.ts";
import { absentForStatus, attempt, NvmlError, STATUS } from "./status.ts";
import { findModuleVersion, readLibraryVersion } from "./versions.ts";

/**
 * Where the driver's library lies, by who put it there. Always an absolute path: given a bare name, Bun also tries the
 * current directory. Never the unversioned name, which is a link for compilers or the CUDA toolkit's stub.
 */
export const LIBRARY_PATHS: readonly string[] = [
  "/usr/lib/x86_64-linux-gnu", // Debian, Ubuntu
  "/usr/lib/aarch64-linux-gnu",
  "/usr/lib64", // Fedora, RHEL, SUSE
  "/usr/lib/wsl/lib", // WSL
  "/usr/local/nvidia/lib64", // Container images of older runtimes, GKE's device plugin
  "/usr/local/nvidia/lib",
  "/home/kubernetes/bin/nvidia/lib64", // GKE, on the node
  "/run/nvidia/driver/usr/lib/x86_64-linux-gnu", // gpu-operator's driver container
  "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
  "/run/nvidia/driver/usr/lib64",
  "/run/opengl-driver/lib", // NixOS
  "/usr/local/glibc/usr/lib", // Talos
  "/usr/lib", // Arch
].map((directory) => `${directory}/libnvidia-ml.so.1`);

/** What exists once the driver is loaded: the module's own files, or the paravirtual device of WSL. */
const DRIVER_SIGNS = ["/proc/driver/nvidia/version", "/sys/module/nvidia", "/dev/dxg"] as const;

/**
 * Opens libnvidia-ml and initialises it. Without a loaded driver it is not touched at all: its initialisation would run
 * nvidia-modprobe(1) and load one.
 *
 * @param path the one file to open, whether a driver is loaded or not; for tests.
 */
export async function openNvml(path?: string): Promise<Reading<Nvml>> {
  const paths = path === undefined ? findLibraries(existsSync) : known([path]);
  if (!paths.ok) return paths;
  let refusal: Absent | undefined;
  for (const path of paths.value) {
    const library = await loadLibrary(path);
    if (library.ok) return initialise(library.value);
    // Another machine's architecture, a broken link: a later place may have the right one.
    refusal ??= library;
  }
  return refusal ?? absent("not-supported", "no path to libnvidia-ml.so.1 was given");
}

/** The files that may be the driver's library, in the order to try them; absent where no driver is loaded. */
export function findLibraries(exists: (path: string) => boolean): Reading<readonly string[]> {
  if (!DRIVER_SIGNS.some((sign) => exists(sign))) {
    return absent("not-supported", `no NVIDIA driver is loaded: there is no ${DRIVER_SIGNS.join(", no ")}`);
  }
  const paths = LIBRARY_PATHS.filter((path) => exists(path));
  return paths.length > 0
    ? known(paths)
    : absent("not-supported", "libnvidia-ml.so.1 is in none of the places where drivers put it");
}

async function loadLibrary(path: string): Promise<Reading<Nvml>> {
  try {
    const anchor = { args: SYMBOLS.nvmlInit_v2, returns: "i32" } as const;
    return known(bindCalls(await openLibrary(path, "nvmlInit_v2", anchor)));
  } catch (error) {
    return absent("failed", `cannot open ${path}: ${messageOf(error)}`);
  }
}

function bindCalls(library: NativeLibrary): Nvml {
  const found = new Map<NvmlSymbol, NativeFunction | undefined>();
  const find = (symbol: NvmlSymbol) => {
    if (!found.has(symbol)) {
      found.set(symbol, library.find(symbol, { args: SYMBOLS[symbol], returns: "i32" }));
    }
    return found.get(symbol);
  };
  const status = (symbol: NvmlSymbol, ...args: NativeArg[]) =>
    find(symbol)?.(...args) ?? STATUS.functionNotFound;
  return {
    path: library.path,
    has: (symbol) => find(symbol) !== undefined,
    status,
    call(symbol, ...args) {
      const answer = status(symbol, ...args);
      if (answer !== STATUS.success) throw new NvmlError(symbol, answer);
    },
  };
}

/** NVML_INIT_FLAG_NO_GPUS: a driver without any GPU is an answer, not an error. */
const NO_GPUS = 1;

function initialise(nvml: Nvml): Reading<Nvml> {
  const flagged = nvml.has("nvmlInitWithFlags");
  const call = flagged ? "nvmlInitWithFlags" : "nvmlInit_v2";
  const status = flagged ? nvml.status(call, NO_GPUS) : nvml.status(call);
  if (status === STATUS.success) return known(nvml);
  const refusal = absentForStatus(call, status);
  if (status !== STATUS.versionMismatch) return refusal;
  const library = attempt(() => readLibraryVersion(nvml));
  const versions = [
    `kernel module ${findModuleVersion() ?? "unknown"}`,
    `library ${valueOf(library) ?? "unknown"}`,
  ];
  return absent(refusal.why, `${refusal.detail}: ${versions.join(", ")}`);
}
