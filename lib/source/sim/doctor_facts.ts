/** What the files of a simulated server's machine would show. */
import { absent, known } from "../../core/reading.ts";
import { pid } from "../../core/ids.ts";
import type { ContainerTools, DriverFiles, MpsPipe, NodeFile } from "../../model/doctor_facts.ts";
import type { DeviceNode } from "../../model/observation.ts";
import { controlNodePath, gpuNodePath, type SimServer, uvmNodePath } from "./server.ts";

/** A pid that nobody has: the daemon is made up like the rest. */
const DAEMON = pid(4_194_304);
const STALE_VERSION = "470.82.01";

/** The driver of a server, from its description alone. */
export function describeDriverFiles(server: SimServer): DriverFiles {
  const { directory, gpus, driver, faults } = server;
  const libraryVersion = faults.doctor.libraryVersion ?? driver.libraryVersion;
  const library = (name: string) =>
    known([{ path: `${directory}/lib/${name}.so.1`, version: known(libraryVersion) }]);
  return {
    isLoaded: known(true),
    moduleVersion: known(driver.version),
    pciGpus: known(gpus.map(({ busId }) => ({ busId, driver: "nvidia" }))),
    kernelGpus: known(gpus.map(({ name, minor }) => ({ name: known(name), minor: known(minor) }))),
    managementLibraries: library("libnvidia-ml"),
    cudaLibraries: library("libcuda"),
    compatLibraries: known([]),
    nodes: known(describeNodes(server)),
  };
}

function describeNodes({ directory, gpus, faults }: SimServer): NodeFile[] {
  const { deviceAccess } = faults.doctor;
  if (deviceAccess === "missing") return [];
  const nodes: [string, DeviceNode][] = [
    ...gpus.map(({ minor }): [string, DeviceNode] => [gpuNodePath(directory, minor), { kind: "gpu", minor }]),
    [controlNodePath(directory), { kind: "control" }],
    [uvmNodePath(directory), { kind: "uvm" }],
  ];
  const isRefused = deviceAccess === "refused";
  return nodes.map(([path, node]) => ({
    path,
    node,
    access: known(deviceAccess),
    isForEverybody: !isRefused,
    permissions: isRefused ? "0:44 0660" : "0:0 0666",
    isCurrent: known(true),
  }));
}

/** What is installed for containers on a server. */
export function describeContainerTools({ driver, faults }: SimServer): ContainerTools {
  const { containerTools } = faults.doctor;
  const hasToolkit = containerTools === "complete" || containerTools === "stale";
  const version = containerTools === "stale" ? STALE_VERSION : driver.version;
  return {
    engines: containerTools === "none" ? [] : ["docker"],
    toolkit: hasToolkit ? ["nvidia-ctk", "nvidia-container-runtime"] : [],
    cdiSpecs: known(hasToolkit ? [{ path: "/etc/cdi/nvidia.yaml", driverVersions: known([version]) }] : []),
  };
}

/** The MPS daemon of a server. */
export function describeMpsPipe({ faults }: SimServer): MpsPipe {
  const directory = "/tmp/nvidia-mps";
  const { mpsDaemon } = faults.doctor;
  if (mpsDaemon === "none") return { kind: "none", directory };
  const isAlive = mpsDaemon === "alive";
  return {
    kind: "daemon",
    daemon: {
      directory,
      pid: isAlive ? known(DAEMON) : absent("not-reported", "its pid is not on record"),
      isAlive: known(isAlive),
    },
  };
}
