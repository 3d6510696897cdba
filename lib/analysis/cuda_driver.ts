/**
 * Which CUDA a driver runs. The tables are those of NVIDIA's CUDA release notes ("CUDA Toolkit and Corresponding Driver
 * Versions" and "Minor Version Compatibility", for Linux), up to 13.4.
 */
import { compareVersions } from "./driver_version.ts";

/** The oldest driver with which any toolkit of a major version runs, since toolkits of one major are compatible. */
const MAJOR_FLOORS: Readonly<Record<string, string>> = {
  "11": "450.80.02",
  "12": "525.60.13",
  "13": "580.65.06",
};

/** The driver that each toolkit came with: from it on everything of the toolkit works. */
const FULL_DRIVERS: readonly (readonly [cuda: string, driver: string])[] = [
  ["9.0", "384.81"],
  ["9.1", "390.46"],
  ["9.2", "396.26"],
  ["10.0", "410.48"],
  ["10.1", "418.39"],
  ["10.2", "440.33"],
  ["11.0", "450.36.06"],
  ["11.1", "455.23"],
  ["11.2", "460.27.03"],
  ["11.3", "465.19.01"],
  ["11.4", "470.42.01"],
  ["11.5", "495.29.05"],
  ["11.6", "510.39.01"],
  ["11.7", "515.43.04"],
  ["11.8", "520.61.05"],
  ["12.0", "525.60.13"],
  ["12.1", "530.30.02"],
  ["12.2", "535.54.03"],
  ["12.3", "545.23.06"],
  ["12.4", "550.54.14"],
  ["12.5", "555.42.02"],
  ["12.6", "560.28.03"],
  ["12.8", "570.26"],
  ["12.9", "575.51.03"],
  ["13.0", "580.65.06"],
  ["13.1", "590.44.01"],
  ["13.2", "595.45.04"],
  ["13.3", "610"],
  ["13.4", "615"],
];

/**
 * How far a driver runs programs of a toolkit:
 *
 * - `full`: everything works
 * - `minor`: by minor version compatibility: compiled code runs, code that the driver must compile itself (PTX) does not
 * - `none`: the driver is too old
 * - `unknown`: no table tells of this toolkit
 */
export type CudaSupport = "full" | "minor" | "none" | "unknown";

/** Says how far a driver runs a toolkit, `12.4` or just `12`. */
export function judgeCudaSupport(cuda: string, driver: string): CudaSupport {
  const [major = ""] = cuda.split(".");
  const floor = MAJOR_FLOORS[major];
  const full = FULL_DRIVERS.find(([version]) => version === cuda)?.[1];
  if (full !== undefined && compareVersions(driver, full) >= 0) return "full";
  if (floor !== undefined) return compareVersions(driver, floor) >= 0 ? "minor" : "none";
  return full === undefined ? "unknown" : "none";
}

/** The oldest driver that runs a toolkit at all; `undefined` where no table tells. */
export function findOldestDriver(cuda: string): string | undefined {
  const [major = ""] = cuda.split(".");
  return MAJOR_FLOORS[major] ?? FULL_DRIVERS.find(([version]) => version === cuda)?.[1];
}

/** The newest toolkit of which everything works with a driver; `undefined` for one that is older than the table. */
export function findNewestCuda(driver: string): string | undefined {
  return FULL_DRIVERS.findLast(([, full]) => compareVersions(driver, full) >= 0)?.[0];
}

/** The newest major version that runs with a driver. */
export function findNewestMajor(driver: string): string | undefined {
  return Object.entries(MAJOR_FLOORS).findLast(([, floor]) => compareVersions(driver, floor) >= 0)?.[0];
}
