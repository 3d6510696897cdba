import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes } from "../../../../lib/core/units.ts";
import { chooseCudaDevices, startCuda } from "../../../../lib/source/sim/cuda.ts";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { openKernel } from "../../../../lib/source/sim/kernel.ts";
import { cudaNodes, inheritedNodes } from "../../../../lib/source/sim/nodes.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const NO_VARIABLES = { visibleDevices: undefined, deviceOrder: undefined };
const GIB = 1024 ** 3;

test("chooseCudaDevices() counts the GPUs that the job sees", () => {
  using folder = temporaryFolder();
  const server = initSimServer(folder.path, { gpus: 4 });
  assert.deepEqual(chooseCudaDevices(server, [1], NO_VARIABLES), {
    used: [{ gpu: 1 }],
    visible: [0, 1, 2, 3],
  });
  assert.deepEqual(chooseCudaDevices(server, [0, 1], { ...NO_VARIABLES, visibleDevices: "3,2" }), {
    used: [{ gpu: 3 }, { gpu: 2 }],
    visible: [3, 2],
  });
});

test("chooseCudaDevices() follows CUDA's own order unless CUDA_DEVICE_ORDER is PCI_BUS_ID", () => {
  using folder = temporaryFolder();
  const faultsPath = folder.write("faults.toml", "cuda-order = [1, 0]");
  const server = initSimServer(`${folder.path}/server`, { faultsPath });
  assert.deepEqual(chooseCudaDevices(server, [0], NO_VARIABLES).used, [{ gpu: 1 }]);
  assert.deepEqual(chooseCudaDevices(server, [0], { ...NO_VARIABLES, deviceOrder: "PCI_BUS_ID" }).used, [{
    gpu: 0,
  }]);
});

test("chooseCudaDevices() refuses a GPU that the job does not see", () => {
  using folder = temporaryFolder();
  const server = initSimServer(folder.path, {});
  const refusals: readonly (readonly [number, string | undefined, string])[] = [
    [2, undefined, "Cannot use GPU 2: the job sees 2"],
    [1, "0", 'Cannot use GPU 1: the job sees 1 (CUDA_VISIBLE_DEVICES is "0")'],
    [0, "", 'Cannot use GPU 0: the job sees none (CUDA_VISIBLE_DEVICES is "")'],
  ];
  for (const [gpu, visibleDevices, message] of refusals) {
    assert.throws(() => chooseCudaDevices(server, [gpu], { ...NO_VARIABLES, visibleDevices }), {
      failure: "unavailable",
      message,
    });
  }
});

test("cudaNodes() tells three grades of touching a GPU apart, and leaves a lost one out", () => {
  using folder = temporaryFolder();
  const faultsPath = folder.write("faults.toml", "[gpu.3]\nlost = true");
  const directory = `${folder.path}/server`;
  const nodes = cudaNodes(initSimServer(directory, { gpus: 4, faultsPath }), {
    used: new Set([0]),
    visible: new Set([0, 1]),
  });
  const node = (name: string, open: number, mapped: number) => ({
    path: `${directory}/dev/${name}`,
    open,
    mapped,
  });
  const gpus = [
    node("nvidia0", 23, 3),
    node("nvidia1", 7, 2),
    node("nvidia2", 3, 0),
    node("nvidiactl", 2, 27),
  ];
  assert.deepEqual(nodes, [...gpus, node("nvidia-uvm", 4, 1)]);
  assert.deepEqual(inheritedNodes(nodes), [...gpus, node("nvidia-uvm", 4, 0)]);
});

test("startCuda() refuses more than is free", async () => {
  using folder = temporaryFolder();
  const faultsPath = folder.write("faults.toml", '[gpu.0]\nunattributed = "3GiB"');
  const server = initSimServer(`${folder.path}/server`, { memory: bytes(16 * GIB), faultsPath });
  const view = chooseCudaDevices(server, [0], NO_VARIABLES);
  const kernel = await openKernel();
  assert.throws(
    () => startCuda(server, { view, size: bytes(13 * GIB), parts: 1, strays: [], imports: [] }, kernel),
    {
      failure: "unavailable",
      message: "Cannot allocate 13 GiB and a context on GPU 0: out of memory, 12.9 GiB of 12.9 GiB are free",
    },
  );
});

test("startCuda() refuses more than is free on a MIG device, which its neighbour does not lend to", async () => {
  using folder = temporaryFolder();
  const faultsPath = folder.write(
    "faults.toml",
    [1, 2].map((instance) =>
      `[[gpu.0.mig]]\ngpu-instance = ${instance}\nprofile = "1g.18gb"\nmemory = "2GiB"`
    ).join("\n"),
  );
  const server = initSimServer(`${folder.path}/server`, { faultsPath });
  const view = chooseCudaDevices(server, [0], NO_VARIABLES);
  assert.deepEqual(view.used, [{ gpu: 0, mig: { gpuInstance: 1, computeInstance: 0 } }]);
  const kernel = await openKernel();
  assert.throws(
    () => startCuda(server, { view, size: bytes(2 * GIB), parts: 1, strays: [], imports: [] }, kernel),
    {
      message: "Cannot allocate 2 GiB and a context on GPU 0: out of memory, 2 GiB of 2 GiB are free",
    },
  );
});
