import assert from "node:assert/strict";
import { test } from "node:test";
import { runGpuctl } from "../support/binary.ts";
import { readLook } from "../support/look.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

const MIB = 1024 ** 2;

/** What `gpuctl snapshot` makes of the process that a scene names: its class, and the bytes it and the dead have. */
const SCENES: Readonly<Record<string, readonly [holderClass: string, own: number, dead: number]>> = {
  plain: ["live", 1542, 0],
  monitor: ["monitor", 0, 0],
  "forked-child": ["inherited", 0, 1542],
  "zombie-leader": ["zombie-leader", 1542, 0],
  "spawn-orphans": ["orphan", 1542, 0],
  "ipc-importer": ["orphan", 1542, 0],
  stopped: ["stopped", 1542, 0],
};

for (const [scene, expected] of Object.entries(SCENES)) {
  test(`gpuctl sim hold sets the scene ${scene}, in which gpuctl snapshot sees the holder for what it is`, async () => {
    await using server = await startSim({ gpus: 2 });
    const hold = await server.hold({ scene, bytes: "1GiB" });
    const { simulated, holders, ghosts } = readLook(await server.run(["snapshot", "--json"]));
    const holder = holders.find(({ pid }) => pid === hold.readyPid);
    const sum = (counts: readonly (number | null)[]) =>
      counts.reduce((total: number, each) => total + (each ?? 0), 0);

    assert.equal(simulated, true);
    assert.deepEqual([
      holder?.class,
      sum(holder?.devices.map(({ contextBytes }) => contextBytes) ?? []) / MIB,
      sum(ghosts.map(({ contextBytes }) => contextBytes)) / MIB,
    ], expected);
  });
}

test("gpuctl sim init gives a server faults, and says where a key is wrong", async () => {
  using folder = temporaryFolder();
  const directory = `${folder.path}/server`;
  const faults = folder.write("faults.toml", "[gpu.0]\nlots = true\n");
  assert.deepEqual(await runGpuctl(["sim", "init", directory, "--faults", faults]), {
    status: 2,
    signal: null,
    stdout: "",
    stderr:
      `gpuctl: Cannot read the faults in ${faults}: gpu.0.lots: there is no such key; did you mean lost?\n`,
  });
});

test("gpuctl sim hold ends with 3 when there is no server, and when memory is short", async () => {
  const missing = await runGpuctl(["sim", "hold", "--sim", "/nonexistent"]);
  assert.deepEqual([missing.status, missing.stderr], [
    3,
    "gpuctl: Cannot find a simulated server in /nonexistent: it has no server.json\n" +
    "  hint: gpuctl sim init /nonexistent makes one\n",
  ]);
  await using server = await startSim({ gpus: 1, memory: "8GiB" });
  const short = await server.run(["sim", "hold", "--bytes", "8GiB"]);
  assert.deepEqual([short.status, short.stderr], [
    3,
    "gpuctl: Cannot allocate 8 GiB and a context on GPU 0: out of memory, 7.9 GiB of 7.9 GiB are free\n",
  ]);
});

test("gpuctl sim hold passes a scene's failure on: a worker that finds too little memory ends the job with 3", async () => {
  await using server = await startSim({ gpus: 1, memory: "8GiB" });
  const { status, stdout, stderr } = await server.run([
    "sim",
    "hold",
    "--scene",
    "spawn-orphans",
    "--bytes",
    "5GiB",
  ]);
  assert.deepEqual([status, stdout], [3, ""]);
  assert.match(stderr, /out of memory[^]*Cannot set the scene: its worker ended with status 3\n$/);
});
