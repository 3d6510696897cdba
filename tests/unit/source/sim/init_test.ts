import assert from "node:assert/strict";
import { readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bytes } from "../../../../lib/core/units.ts";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { cudaCandidates, readSimServer } from "../../../../lib/source/sim/server.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const GIB = 1024 ** 3;

test("initSimServer() makes a server of the default kind when it is told nothing", () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, "a", "server");
  initSimServer(directory, {});
  const gpu = (index: number) => ({
    index,
    uuid: `GPU-5130000${index}-0000-4000-8000-00000000000${index}`,
    name: "NVIDIA H200",
    busId: `00000000:0${index + 1}:00.0`,
    minor: index,
    memoryTotalBytes: 143_771 * 1024 ** 2,
    memoryReservedBytes: 615 * 1024 ** 2,
  });
  assert.deepEqual(JSON.parse(readFileSync(join(directory, "server.json"), "utf8")), {
    schema: "gpuctl.sim/1",
    pidNamespace: readlinkSync("/proc/self/ns/pid"),
    driver: { version: "580.159.04", libraryVersion: "580.159.04", cudaVersion: "13.0" },
    gpus: [gpu(0), gpu(1)],
    faults: {},
  });
});

test("initSimServer() lets every user open the nodes and take memory", () => {
  using folder = temporaryFolder();
  initSimServer(folder.path, { gpus: 1 });
  const modeOf = (path: string) => (statSync(join(folder.path, path)).mode & 0o7777).toString(8);
  assert.deepEqual(["dev/nvidia0", "dev/nvidiactl", "dev/nvidia-uvm", "mem/gpu0"].map(modeOf), [
    "666",
    "666",
    "666",
    "1777",
  ]);
  assert.ok(statSync(join(folder.path, "dev/nvidia0")).size >= 4096);
});

test("initSimServer() makes as many GPUs as it is told, each with an address and a UUID of its own", () => {
  using folder = temporaryFolder();
  const { gpus } = initSimServer(folder.path, { gpus: 16, memory: bytes(8 * GIB), name: "NVIDIA L4" });
  assert.deepEqual(
    gpus.slice(15).map((
      { name, uuid, busId, memoryTotal, memoryReserved },
    ) => [name, uuid, busId, memoryTotal, memoryReserved]),
    [[
      "NVIDIA L4",
      "GPU-5130000f-0000-4000-8000-00000000000f",
      "00000000:10:00.0",
      8 * GIB,
      64 * 1024 ** 2,
    ]],
  );
  assert.deepEqual([gpus.length, new Set(gpus.map(({ busId }) => busId)).size], [16, 16]);
});

test("initSimServer() gives a server other faults, or none, and keeps its GPUs", () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, "server");
  const before = initSimServer(directory, { gpus: 3, memory: bytes(80 * GIB) });
  const lost = initSimServer(directory, { faultsPath: folder.write("faults.toml", "[gpu.2]\nlost = true") });
  assert.deepEqual(lost.gpus.map(({ faults }) => faults.isLost), [false, false, true]);
  assert.deepEqual(readSimServer(directory), lost);
  assert.deepEqual(initSimServer(directory, { gpus: 3 }), before);
});

test("initSimServer() refuses to make other GPUs of those there are", () => {
  using folder = temporaryFolder();
  initSimServer(folder.path, { gpus: 3 });
  const refusal = {
    failure: "refused",
    message: `Cannot make a simulated server in ${folder.path}: there is one, with 3 GPUs, NVIDIA H200`,
  };
  for (const plan of [{ gpus: 2 }, { memory: bytes(GIB) }, { name: "NVIDIA L4" }]) {
    assert.throws(() => initSimServer(folder.path, plan), refusal);
  }
});

test("initSimServer() leaves a server as it was when the faults are wrong", () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, "server");
  const before = initSimServer(directory, {});
  const wrong: readonly (readonly [string, string])[] = [
    ["[gpu.0]\nlots = true", "gpu.0.lots: there is no such key; did you mean lost?"],
    ["[gpu.2]\nlost = true", "gpu.2: the server has GPUs 0 to 1"],
    ["cuda-order = [1, 1]", "cuda-order: expected each of 0 to 1 once"],
  ];
  for (const [text, problem] of wrong) {
    const faultsPath = folder.write("faults.toml", text);
    assert.throws(() => initSimServer(directory, { faultsPath }), {
      failure: "usage",
      message: `Cannot read the faults in ${faultsPath}: ${problem}`,
    });
  }
  const faultsPath = join(folder.path, "none.toml");
  assert.throws(() => initSimServer(directory, { faultsPath }), {
    failure: "unavailable",
    message: `Cannot read the faults in ${faultsPath}: there is no such file`,
  });
  assert.deepEqual(readSimServer(directory), before);
});

test("readSimServer() says what is wrong with a description", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "server.json");
  assert.throws(() => readSimServer(folder.path), {
    failure: "unavailable",
    message: `Cannot find a simulated server in ${folder.path}: it has no server.json`,
    hint: `gpuctl sim init ${folder.path} makes one`,
  });
  initSimServer(folder.path, { gpus: 1 });
  writeFileSync(path, readFileSync(path, "utf8").replace('"minor": 0', '"minor": -1'));
  assert.throws(() => readSimServer(folder.path), {
    failure: "unavailable",
    message:
      `Cannot read ${path}: gpus.0.minor: Cannot make a device minor as it must be from 0 to 2^20 - 1: current value is -1`,
  });
});

test("cudaCandidates() numbers GPUs in CUDA's order unless told to go by address, and leaves lost ones out", () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, "server");
  const faultsPath = folder.write("faults.toml", "cuda-order = [2, 0, 1]\n[gpu.0]\nlost = true");
  const server = initSimServer(directory, { gpus: 3, faultsPath });
  const indexes = (order: string | undefined) => cudaCandidates(server, order).map(({ index }) => index);
  const orders = [undefined, "FASTEST_FIRST", "PCI_BUS_ID", "pci_bus_id"];
  assert.deepEqual(orders.map(indexes), [[2, 1], [2, 1], [1, 2], []]);
});
