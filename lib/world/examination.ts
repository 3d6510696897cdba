/** What a diagnosis reads of a machine, this one or a simulated one, beside the look at its driver. */
import { resolve } from "node:path";
import process from "node:process";
import { messageOf } from "../core/errors.ts";
import { absent, known, mapReading, type Reading } from "../core/reading.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { Standing } from "../model/doctor_facts.ts";
import { findHiding } from "../proc/hidden.ts";
import { readReader } from "../proc/reader.ts";
import { realClock } from "./clock.ts";
import { readContainerTools } from "./container_tools.ts";
import { readDriverFiles } from "./driver_files.ts";
import { readGpuServices } from "./gpu_services.ts";
import { readMpsPipe } from "./mps_pipe.ts";
import { readHost, readUptimeTicks } from "./observe.ts";
import type { Examination } from "./ports.ts";
import { readPythonInterpreters } from "./python_packages.ts";
import { readMachineFacts, THIS_MACHINE } from "./reset_facts.ts";

/** What is known of whoever asks. */
export interface ExaminationPlaces {
  readonly variable: (name: string) => string | undefined;
  /** What gpuctl has on record of its own acts on this source. */
  readonly record: () => Reading<string>;
}

/**
 * Opens what a diagnosis reads.
 *
 * @throws {GpuctlError} if there is no such simulated server
 */
export async function openExamination(source: LiveSource, places: ExaminationPlaces): Promise<Examination> {
  if (source.kind === "sim") return await openSimulated(resolve(source.directory), places);
  const { variable } = places;
  const { root, systemd } = THIS_MACHINE;
  return {
    ...ofEveryMachine(places),
    readDriver: () =>
      readDriverFiles({
        root,
        libraryPath: variable("LD_LIBRARY_PATH"),
        library: source.kind === "nvml" ? source.library : undefined,
      }),
    readStanding: () => Promise.resolve(readStanding()),
    readMachine: () => Promise.resolve(readMachineFacts(THIS_MACHINE)),
    readServices: () => readGpuServices(systemd),
    readContainers: () => readContainerTools(root),
    readMps: () => readMpsPipe(variable("CUDA_MPS_PIPE_DIRECTORY"), readIsInitial()),
  };
}

async function openSimulated(directory: string, places: ExaminationPlaces): Promise<Examination> {
  const [{ readSimServer }, { describeFacts }, facts] = await Promise.all([
    import("../source/sim/server.ts"),
    import("../source/sim/reset_facts.ts"),
    import("../source/sim/doctor_facts.ts"),
  ]);
  const server = readSimServer(directory);
  const { services, ...machine } = describeFacts(server);
  return {
    ...ofEveryMachine(places),
    readDriver: () => Promise.resolve(facts.describeDriverFiles(server)),
    readStanding: () => Promise.resolve(readStanding(server.pidNamespace)),
    readMachine: () => Promise.resolve(machine),
    readServices: () => Promise.resolve(services),
    readContainers: () => Promise.resolve(facts.describeContainerTools(server)),
    readMps: () => Promise.resolve(facts.describeMpsPipe(server)),
  };
}

/** A simulated server has no interpreters of its own: jobs on it are programs of this machine. */
function ofEveryMachine(
  { variable, record }: ExaminationPlaces,
): Pick<Examination, "readPython" | "readActs"> {
  return {
    readActs: () =>
      Promise.resolve(mapReading(record(), (text) => ({
        text,
        moment: { host: readHost(), takenAt: realClock.now(), ticks: readUptimeTicks() },
      }))),
    readPython: (named) => readPythonInterpreters({ variable, directory: findDirectory(), named }),
  };
}

/** The current directory; the root where that was removed, or may not be known. */
function findDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return "/"; // Nothing can lie in a directory that cannot be named.
  }
}

/** Absent where this /proc is not that of the namespace that gpuctl runs in. */
function readStanding(firstPidNamespace?: string): Reading<Standing> {
  try {
    const reader = readReader("/proc", { helpers: [], firstPidNamespace });
    const hiding = findHiding("/proc", reader);
    return known({
      isRoot: reader.isRoot,
      mayTrace: reader.mayTrace,
      isInitialPidNamespace: reader.isInitialPidNamespace,
      ...hiding !== undefined && { hiding },
    });
  } catch (error) {
    return absent("failed", messageOf(error));
  }
}

/** In which the pid of a daemon may be somebody else's. */
function readIsInitial(): Reading<boolean> {
  const standing = readStanding();
  return standing.ok ? standing.value.isInitialPidNamespace : standing;
}
