import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deviceMinor, parseBusId } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { readContainerTools } from "../../../lib/world/container_tools.ts";
import { readDriverFiles } from "../../../lib/world/driver_files.ts";
import { readMpsPipe } from "../../../lib/world/mps_pipe.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary.ts";

/** What an open kernel module of 2025 says of itself. */
const VERSION =
  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build  (builder@host)\n";

/** A machine of plain files: its nodes are no devices. */
function machine(): TemporaryFolder {
  const root = temporaryFolder();
  root.write("proc/driver/nvidia/version", VERSION);
  root.write("proc/devices", "Character devices:\n195 nvidia\n\nBlock devices:\n");
  root.write(
    "proc/driver/nvidia/gpus/0000:01:00.0/information",
    "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-00000000-0000-0000-0000-000000000000\nDevice Minor: \t 3\n",
  );
  root.write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  root.write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  symlinkSync("../../../bus/pci/drivers/nvidia", join(root.path, "sys/bus/pci/devices/0000:01:00.0/driver"));
  root.write("sys/bus/pci/devices/0000:02:00.0/vendor", "0x8086\n");
  root.write("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");
  root.write("usr/lib64/libnvidia-ml.so.570.158.01", "");
  symlinkSync("libnvidia-ml.so.570.158.01", join(root.path, "usr/lib64/libnvidia-ml.so.1"));
  root.write("usr/lib64/libcuda.so.1", "");
  root.write("usr/local/cuda-13.0/compat/libcuda.so.580.65.06", "");
  symlinkSync("libcuda.so.580.65.06", join(root.path, "usr/local/cuda-13.0/compat/libcuda.so.1"));
  mkdirSync(join(root.path, "dev/nvidia-caps"), { recursive: true });
  root.write("dev/nvidia3", "");
  return root;
}

test("readDriverFiles() reads the driver as files show it", async () => {
  using root = machine();
  const found = await readDriverFiles({ root: root.path, libraryPath: "/usr/local/cuda-13.0/compat:/x" });
  const [first] = found.nodes.ok ? found.nodes.value : [];
  assert.deepEqual({ ...found, nodes: first?.path }, {
    isLoaded: known(true),
    moduleVersion: known("570.158.01"),
    pciGpus: known([{ busId: parseBusId("0000:01:00.0"), driver: "nvidia" }]),
    kernelGpus: known([{ name: known("NVIDIA H200"), minor: known(deviceMinor(3)) }]),
    managementLibraries: known([{ path: "/usr/lib64/libnvidia-ml.so.1", version: known("570.158.01") }]),
    cudaLibraries: known([{
      path: "/usr/lib64/libcuda.so.1",
      version: absent("not-reported", "libcuda.so.1 has no version in its name"),
    }]),
    compatLibraries: known([{
      path: "/usr/local/cuda-13.0/compat/libcuda.so.1",
      version: known("580.65.06"),
      isOnLibraryPath: true,
    }]),
    nodes: "/dev/nvidia3",
  });
  assert.deepEqual(first?.node, { kind: "gpu", minor: deviceMinor(3) });
  assert.deepEqual(first?.access, known("granted"));
  assert.deepEqual(first?.isCurrent, known(false), "a plain file is no node of the driver");
});

test("readDriverFiles() says that no driver is loaded, and does not take silence for a version", async () => {
  using root = temporaryFolder();
  mkdirSync(join(root.path, "dev"));
  const none = await readDriverFiles({ root: root.path, libraryPath: undefined });
  assert.deepEqual([none.isLoaded, none.moduleVersion], [
    known(false),
    absent("not-supported", "no NVIDIA driver is loaded"),
  ]);
  assert.deepEqual(none.pciGpus, absent("not-supported", `there is no ${root.path}/sys/bus/pci/devices`));
  root.write("sys/module/nvidia/version", "570.158.01\n");
  assert.deepEqual(
    (await readDriverFiles({ root: root.path, libraryPath: undefined })).moduleVersion,
    known("570.158.01"),
  );
  root.write("proc/driver/nvidia/version", "\x1b[2J\n");
  const odd = await readDriverFiles({ root: root.path, libraryPath: undefined });
  assert.deepEqual([odd.isLoaded, odd.moduleVersion], [
    known(true),
    absent("implausible", `${root.path}/proc/driver/nvidia/version names no version`),
  ]);
  root.write("dev/dxg", "");
  assert.deepEqual(
    (await readDriverFiles({ root: root.path, libraryPath: undefined })).moduleVersion,
    absent("not-supported", "WSL uses the driver of Windows"),
  );
});

test("readContainerTools() finds engines, the toolkit, and the driver that descriptions of devices name", async () => {
  using root = temporaryFolder();
  assert.deepEqual(await readContainerTools(root.path), { engines: [], toolkit: [], cdiSpecs: known([]) });
  root.write("usr/bin/dockerd", "");
  root.write("usr/bin/nvidia-ctk", "");
  root.write(
    "etc/cdi/nvidia.yaml",
    "hostPath: /usr/lib64/libcuda.so.570.158.01\n- /usr/lib64/libcuda.so.570.158.01\n",
  );
  root.write("etc/cdi/other.yaml", "hostPath: /usr/lib64/libcuda.so.1.2.3\n");
  mkdirSync(join(root.path, "var/run/cdi/nvidia.json"), { recursive: true });
  assert.deepEqual(await readContainerTools(root.path), {
    engines: ["docker"],
    toolkit: ["nvidia-ctk"],
    cdiSpecs: known([
      { path: "/etc/cdi/nvidia.yaml", driverVersions: known(["570.158.01"]) },
      { path: "/var/run/cdi/nvidia.json", driverVersions: absent("failed", "it is no regular file") },
    ]),
  });
});

test("readMpsPipe() tells no daemon from a dead one, and takes another namespace's pid for neither", async () => {
  using folder = temporaryFolder();
  const directory = folder.path;
  assert.deepEqual(await readMpsPipe(directory, known(true)), { kind: "none", directory });
  folder.write("control", "");
  const file = join(directory, "nvidia-cuda-mps-control.pid");
  const none = absent("not-reported", `there is no ${file}`);
  assert.deepEqual(await readMpsPipe(directory, known(true)), {
    kind: "daemon",
    daemon: { directory, pid: none, isAlive: none },
  });
  // Process 1 is nobody's MPS daemon.
  folder.write("nvidia-cuda-mps-control.pid", "1\n");
  const dead = await readMpsPipe(directory, known(true));
  assert.deepEqual(dead.kind === "daemon" && dead.daemon.isAlive, known(false));
  const elsewhere = await readMpsPipe(directory, known(false));
  assert.deepEqual(
    elsewhere.kind === "daemon" && elsewhere.daemon.isAlive,
    absent("hidden", "it may live outside of this PID namespace"),
  );
  folder.write("nvidia-cuda-mps-control.pid", "-1; rm -rf /\n");
  const odd = await readMpsPipe(directory, known(true));
  assert.deepEqual(odd.kind === "daemon" && odd.daemon.pid, absent("implausible", `${file} holds no pid`));
});
