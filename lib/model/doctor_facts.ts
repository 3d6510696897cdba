/** What a diagnosis rests on beside a look at the driver. None of it needs the driver's library, so none of it can hang there. */
import type { BusId, DeviceMinor, Pid } from "../core/ids.ts";
import type { Absent, Reading } from "../core/reading.ts";
import type { DeviceNode, Observation } from "./observation.ts";

/** A GPU as the PCI bus shows it, with or without a driver. */
export interface PciGpu {
  readonly busId: BusId;
  /** The kernel driver that has it: `nvidia`, `nouveau`, `vfio-pci`; absent where none has. */
  readonly driver?: string;
}

/** A GPU as the kernel's side of the driver describes it. */
export interface KernelGpu {
  readonly name: Reading<string>;
  readonly minor: Reading<DeviceMinor>;
}

/** One of the driver's libraries where it lies. */
export interface LibraryFile {
  readonly path: string;
  /** As the name of the file itself says, `libcuda.so.580.159.04`. */
  readonly version: Reading<string>;
}

/** What the kernel's rules make of opening a device node: file permissions are asked first, then the cgroup's device rules. */
export type NodeAccess = "granted" | "refused" | "refused-by-rules";

/** A device node of the driver as a file. It was not opened: that would wake a GPU. */
export interface NodeFile {
  readonly path: string;
  readonly node: DeviceNode;
  readonly access: Reading<NodeAccess>;
  /** Whether everybody may read and write it. */
  readonly isForEverybody: boolean;
  /** Owner, group and mode, as numbers: `0:44 0660`. */
  readonly permissions: string;
  /** Whether its device number is one that the loaded driver has. */
  readonly isCurrent: Reading<boolean>;
}

/** A newer libcuda beside the driver's own (packages `cuda-compat-X-Y`). It counts only where the loader finds it first. */
export interface CompatLibrary extends LibraryFile {
  readonly isOnLibraryPath: boolean;
}

/** The driver as files show it. */
export interface DriverFiles {
  readonly isLoaded: Reading<boolean>;
  /** Absent as `not-supported` where there is none to have: no driver, or Windows' own under WSL. */
  readonly moduleVersion: Reading<string>;
  readonly pciGpus: Reading<readonly PciGpu[]>;
  /** Absent where the driver shows no GPUs to the kernel's files. */
  readonly kernelGpus: Reading<readonly KernelGpu[]>;
  /** libnvidia-ml in every place where drivers put it. */
  readonly managementLibraries: Reading<readonly LibraryFile[]>;
  /** libcuda likewise. */
  readonly cudaLibraries: Reading<readonly LibraryFile[]>;
  readonly compatLibraries: Reading<readonly CompatLibrary[]>;
  readonly nodes: Reading<readonly NodeFile[]>;
}

/** Where this program stands, and what it can see from there. */
export interface Standing {
  readonly isRoot: boolean;
  /** Whether it may look into everybody: root of a user namespace of its own may not (user_namespaces(7)). */
  readonly mayTrace: boolean;
  readonly isInitialPidNamespace: Reading<boolean>;
  /** Why processes of others do not show at all; absent where they do. */
  readonly hiding?: Absent;
}

/** A description of devices for containers (CDI), with the driver's versions that its paths name. */
export interface CdiSpec {
  readonly path: string;
  readonly driverVersions: Reading<readonly string[]>;
}

/** What gives GPUs to containers on this machine. */
export interface ContainerTools {
  /** `docker`, `podman`, `containerd`: those that are installed. */
  readonly engines: readonly string[];
  /** Programs of the NVIDIA container toolkit. */
  readonly toolkit: readonly string[];
  readonly cdiSpecs: Reading<readonly CdiSpec[]>;
}

/** A control daemon of MPS as its pipe directory shows it. */
export interface MpsDaemon {
  readonly directory: string;
  readonly pid: Reading<Pid>;
  readonly isAlive: Reading<boolean>;
}

/** What gpuctl has on record of its own acts, and the moment at which it was read. */
export interface ActRecord {
  readonly text: string;
  readonly moment: Pick<Observation, "host" | "takenAt" | "ticks">;
}

/** Whether programs are led to an MPS daemon: `none` where the pipe directory has no control pipe. */
export type MpsPipe = { readonly kind: "none"; readonly directory: string } | {
  readonly kind: "daemon";
  readonly daemon: MpsDaemon;
};
