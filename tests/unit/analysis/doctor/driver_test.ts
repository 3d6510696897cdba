import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBusId } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import type { CheckId, CheckVerdict } from "../../../../lib/model/doctor.ts";
import { type DoctorScene, judgeCheck } from "../../../support/doctor_scene.ts";

const UNLOADED = {
  isLoaded: known(false),
  moduleVersion: absent("not-supported", "no NVIDIA driver is loaded"),
} as const;
const CARD = parseBusId("0000:01:00.0");
const NO_DRIVER: CheckVerdict = {
  status: "skipped",
  evidence: ["no NVIDIA driver is loaded: see driver.module-loaded"],
};
const RELOAD =
  "reboot; or, once nobody uses a GPU, reload the modules: sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia, " +
  "then sudo modprobe -a nvidia nvidia_uvm";

function assertVerdicts(id: CheckId, cases: readonly (readonly [DoctorScene, CheckVerdict])[]): void {
  for (const [scene, verdict] of cases) assert.deepEqual(judgeCheck(id, scene), verdict);
}

test("driver.module-loaded tells a machine without a GPU from one whose GPU has no driver, or another one's", () => {
  assertVerdicts("driver.module-loaded", [
    [{}, { status: "ok", evidence: ["the kernel module 580.159.04 is loaded"] }],
    [{ driver: { ...UNLOADED, pciGpus: known([]) } }, {
      status: "finding",
      evidence: ["no NVIDIA driver is loaded", "the kernel sees no NVIDIA GPU on the PCI bus"],
      fix:
        "use a machine with a GPU; a virtual machine needs one handed to it, a real one needs it seated and powered",
    }],
    [{ driver: { ...UNLOADED, pciGpus: known([]) }, machine: { isContainer: known(true) } }, {
      status: "finding",
      evidence: ["no NVIDIA driver is loaded", "the kernel sees no NVIDIA GPU on the PCI bus"],
      fix: "use a machine with a GPU; if this one should have one, ask whoever runs the host",
    }],
    [{ driver: { ...UNLOADED, pciGpus: known([{ busId: CARD, driver: "nouveau" }]) } }, {
      status: "finding",
      evidence: [
        "no NVIDIA driver is loaded",
        "there is 1 NVIDIA GPU on the PCI bus",
        "00000000:01:00.0 belongs to the kernel driver nouveau",
      ],
      fix: "install NVIDIA's driver, keep nouveau from loading (modprobe.d: blacklist nouveau), and reboot",
    }],
    [{ driver: { ...UNLOADED, pciGpus: known([{ busId: CARD, driver: "vfio-pci" }]) } }, {
      status: "finding",
      evidence: [
        "no NVIDIA driver is loaded",
        "there is 1 NVIDIA GPU on the PCI bus",
        "00000000:01:00.0 belongs to the kernel driver vfio-pci",
      ],
      fix: "the GPUs are set aside for virtual machines: use them there, or give them back to the host",
    }],
    [{ driver: { ...UNLOADED, pciGpus: known([{ busId: CARD }, { busId: CARD }]) } }, {
      status: "finding",
      evidence: ["no NVIDIA driver is loaded", "there are 2 NVIDIA GPUs on the PCI bus"],
      fix:
        "load it: sudo modprobe nvidia; if there is no such module, install the driver; if it is there for another " +
        "kernel only, rebuild it (dkms autoinstall); if its key is refused, enrol it for Secure Boot",
    }],
    [{ driver: { ...UNLOADED, pciGpus: absent("hidden") } }, {
      status: "finding",
      evidence: [
        "no NVIDIA driver is loaded",
        "whether there is an NVIDIA GPU is not known: hidden from here",
      ],
      fix:
        "load it: sudo modprobe nvidia; if there is no such module, install the driver of your distribution",
    }],
    [{ driver: { moduleVersion: absent("not-supported", "WSL uses the driver of Windows") } }, {
      status: "skipped",
      evidence: ["not supported here (WSL uses the driver of Windows)"],
    }],
    [{ driver: { isLoaded: absent("failed", "EIO") } }, {
      status: "unknown",
      evidence: ["whether a driver is loaded is not known: the call failed (EIO)"],
    }],
  ]);
});

test("driver.versions-agree compares the module with the first library of each kind, part by part", () => {
  const library = (name: string, version: string) =>
    known([{ path: `/usr/lib64/${name}.so.1`, version: known(version) }]);
  assertVerdicts("driver.versions-agree", [
    [{ driver: { managementLibraries: library("libnvidia-ml", "580.178") } }, {
      status: "finding",
      evidence: [
        "the kernel module is 580.159.04 and /usr/lib64/libnvidia-ml.so.1 is 580.178",
        "the kernel module and /usr/lib64/libcuda.so.1 are both 580.159.04",
      ],
      fix: RELOAD,
    }],
    [{ driver: { managementLibraries: library("libnvidia-ml", "580.159") } }, {
      status: "ok",
      evidence: [
        "the kernel module and /usr/lib64/libnvidia-ml.so.1 are both 580.159.04",
        "the kernel module and /usr/lib64/libcuda.so.1 are both 580.159.04",
      ],
    }],
    [{ driver: { cudaLibraries: known([]) } }, {
      status: "unknown",
      evidence: [
        "there is no libcuda to compare with the module 580.159.04",
        "the kernel module and /usr/lib64/libnvidia-ml.so.1 are both 580.159.04",
      ],
    }],
    [{ driver: UNLOADED }, NO_DRIVER],
  ]);
});

test("library.loadable names the library that is missing, and what brings it here", () => {
  assertVerdicts("library.loadable", [
    [{ driver: { cudaLibraries: known([]) }, machine: { isContainer: known(true) } }, {
      status: "finding",
      evidence: [
        "libcuda.so.1 is in none of the places where drivers put it",
        "/usr/lib64/libnvidia-ml.so.1 is there",
      ],
      fix:
        "start the container with GPUs (docker run --gpus all) and with compute among NVIDIA_DRIVER_CAPABILITIES",
    }],
    [{ driver: { managementLibraries: known([]) } }, {
      status: "finding",
      evidence: [
        "libnvidia-ml.so.1 is in none of the places where drivers put it",
        "/usr/lib64/libcuda.so.1 is there",
      ],
      fix: "install the part of the driver that is for programs, of the module's own version",
    }],
    [{ driver: UNLOADED }, NO_DRIVER],
  ]);
});

test("driver.answers is a finding for a driver that hangs, refuses, or shows no GPU", () => {
  const silent = (report: ReturnType<typeof absent>): DoctorScene => ({ observation: { report } });
  assertVerdicts("driver.answers", [
    [{}, { status: "ok", evidence: ["it answers for 1 GPU"] }],
    [silent(absent("timed-out", "helper 812 has been stuck in the driver since noon")), {
      status: "finding",
      evidence: ["it cannot be asked: helper 812 has been stuck in the driver since noon"],
      fix:
        "look into the kernel log (sudo dmesg | grep -i -e nvrm -e xid) and start no further nvidia-smi: each would hang " +
        "as well. If it stays so for minutes, only a reboot helps",
    }],
    [silent(absent("no-permission", "nvmlInit: blocked")), {
      status: "finding",
      evidence: ["it cannot be asked: nvmlInit: blocked"],
      fix: "see devices.permissions and container.cgroup-devices",
    }],
    [silent(absent("failed", "Driver/library version mismatch")), {
      status: "finding",
      evidence: ["it cannot be asked: Driver/library version mismatch"],
      fix: "see the checks above; the kernel log has the rest: sudo dmesg | grep -i nvrm",
    }],
    [silent(absent("implausible", "no answer that can be read")), {
      status: "unknown",
      evidence: ["it cannot be asked: no answer that can be read"],
    }],
    [{ spec: { processes: [], gpus: [] } }, {
      status: "finding",
      evidence: ["it answers, and shows no GPU"],
      fix:
        "look into the kernel log for cards that did not start (sudo dmesg | grep -i nvrm); in a container, see that it " +
        "was given GPUs",
    }],
    [{ driver: UNLOADED, observation: { report: absent("not-supported") } }, NO_DRIVER],
  ]);
});

test("a diagnosis without files of the driver leaves each of its checks unknown", () => {
  const reason = absent("timed-out", "no answer within 5 s");
  for (
    const id of [
      "driver.module-loaded",
      "driver.versions-agree",
      "library.loadable",
      "devices.permissions",
    ] as const
  ) {
    assert.deepEqual(judgeCheck(id, { facts: { driver: reason } }), {
      status: "unknown",
      evidence: ["whether a driver is loaded is not known: no answer in time (no answer within 5 s)"],
      fix: "give it more time, such as --deadline 30s; if it stays, look into the kernel log: sudo dmesg",
    });
  }
});
