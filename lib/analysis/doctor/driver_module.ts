/** Is there a driver, and are its halves of one version? */
import { formatAbsent, type Reading } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { DriverFiles, LibraryFile, PciGpu } from "../../model/doctor_facts.ts";
import { sameVersion } from "../driver_version.ts";
import { type CheckPlan, type DoctorFacts, isInContainer, withDriver } from "./facts.ts";
import { finding, fine, skipped, unknown, unseen, worstVerdict } from "./verdict.ts";

export const MODULE_LOADED: CheckPlan = {
  id: "driver.module-loaded",
  title: "the NVIDIA kernel module is loaded",
  explanation: "Without it no program can use a GPU, whatever else is installed.",
  reads: ["driver", "machine"],
  judge: judgeModule,
};

export const VERSIONS_AGREE: CheckPlan = {
  id: "driver.versions-agree",
  title: "the kernel module and the driver's libraries are of one version",
  explanation:
    "After an update the new libraries refuse the old module that is still loaded. Programs that " +
    "run already go on; none can be started.",
  reads: ["driver"],
  judge: (facts) => withDriver(facts, judgeVersions),
};

function judgeModule({ driver, machine }: DoctorFacts): CheckVerdict {
  if (!driver.ok) return unseen("whether a driver is loaded", driver);
  const { isLoaded, moduleVersion, pciGpus } = driver.value;
  if (!isLoaded.ok) return unseen("whether a driver is loaded", isLoaded);
  if (!isLoaded.value) return judgeMissing(pciGpus, machine);
  if (moduleVersion.ok) return fine(`the kernel module ${moduleVersion.value} is loaded`);
  return moduleVersion.why === "not-supported"
    ? skipped(formatAbsent(moduleVersion))
    : unseen("the version of the loaded module", moduleVersion);
}

function judgeMissing(
  pciGpus: DriverFiles["pciGpus"],
  machine: DoctorFacts["machine"],
): CheckVerdict {
  const missing = "no NVIDIA driver is loaded";
  if (!pciGpus.ok) {
    return finding(
      [missing, `whether there is an NVIDIA GPU is not known: ${formatAbsent(pciGpus)}`],
      "load it: sudo modprobe nvidia; if there is no such module, install the driver of your distribution",
    );
  }
  const gpus = pciGpus.value;
  if (gpus.length === 0) {
    return finding(
      [missing, "the kernel sees no NVIDIA GPU on the PCI bus"],
      isInContainer({ machine })
        ? "use a machine with a GPU; if this one should have one, ask whoever runs the host"
        : "use a machine with a GPU; a virtual machine needs one handed to it, a real one needs it seated and powered",
    );
  }
  const seen = `there ${gpus.length === 1 ? "is" : "are"} ${
    plural(gpus.length, "NVIDIA GPU")
  } on the PCI bus`;
  return finding([missing, seen, ...gpus.flatMap(describeOtherDriver)], fixFor(gpus));
}

function describeOtherDriver({ busId, driver }: PciGpu): string[] {
  return driver === undefined ? [] : [`${busId} belongs to the kernel driver ${driver}`];
}

function fixFor(gpus: readonly PciGpu[]): string {
  const drivers = gpus.map(({ driver }) => driver);
  if (drivers.includes("nouveau")) {
    return "install NVIDIA's driver, keep nouveau from loading (modprobe.d: blacklist nouveau), and reboot";
  }
  if (drivers.length > 0 && drivers.every((driver) => driver === "vfio-pci")) {
    return "the GPUs are set aside for virtual machines: use them there, or give them back to the host";
  }
  return "load it: sudo modprobe nvidia; if there is no such module, install the driver; if it is there for another " +
    "kernel only, rebuild it (dkms autoinstall); if its key is refused, enrol it for Secure Boot";
}

function judgeVersions({ moduleVersion, managementLibraries, cudaLibraries }: DriverFiles): CheckVerdict {
  if (!moduleVersion.ok) {
    return moduleVersion.why === "not-supported"
      ? skipped(formatAbsent(moduleVersion))
      : unseen("the version of the loaded module", moduleVersion);
  }
  return worstVerdict([
    compareLibrary("libnvidia-ml", managementLibraries, moduleVersion.value),
    compareLibrary("libcuda", cudaLibraries, moduleVersion.value),
  ]);
}

/** The first place where the library lies is the one that counts. */
function compareLibrary(
  name: string,
  files: Reading<readonly LibraryFile[]>,
  moduleVersion: string,
): CheckVerdict {
  if (!files.ok) return unseen(`where ${name} lies`, files);
  const [first] = files.value;
  // That it is missing is what library.loadable says.
  if (first === undefined) {
    return unknown([`there is no ${name} to compare with the module ${moduleVersion}`]);
  }
  if (!first.version.ok) return unseen(`the version of ${first.path}`, first.version);
  if (sameVersion(first.version.value, moduleVersion)) {
    return fine(`the kernel module and ${first.path} are both ${moduleVersion}`);
  }
  return finding(
    [`the kernel module is ${moduleVersion} and ${first.path} is ${first.version.value}`],
    "reboot; or, once nobody uses a GPU, reload the modules: sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia, " +
      "then sudo modprobe -a nvidia nvidia_uvm",
  );
}
