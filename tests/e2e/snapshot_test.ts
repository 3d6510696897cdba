import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gpuctlCommand } from "../support/binary.ts";
import { ghostsOf, holdersOf, type Look, problemsOf, readLook } from "../support/look.ts";
import { startSim } from "../support/sim.ts";

const GIB = 1024 ** 3;
/** What a context costs beside what its process allocates. */
const CONTEXT_MIB = 518;

/** The classes of all holders in each scene, with the MiB that are charged to them, and the MiB that the dead have. */
const SCENES = {
  plain: [[["live", 1024 + CONTEXT_MIB]], []],
  monitor: [[["monitor", 0]], []],
  "forked-child": [[["inherited", 0]], [1024 + CONTEXT_MIB]],
  "zombie-leader": [[["zombie-leader", 1024 + CONTEXT_MIB]], []],
  "spawn-orphans": [[["orphan", 1024 + CONTEXT_MIB], ["orphan", 1024 + CONTEXT_MIB]], []],
  "dataloader-orphans": [[["inherited", 0], ["inherited", 0]], [1024 + CONTEXT_MIB]],
  "ipc-importer": [[["orphan", 1024 + CONTEXT_MIB]], []],
  stopped: [[["stopped", 1024 + CONTEXT_MIB]], []],
} as const;

for (const [scene, [holders, dead]] of Object.entries(SCENES)) {
  test(`gpuctl snapshot names every holder of the scene ${scene} for what it is`, async () => {
    await using server = await startSim({ gpus: 2 });
    const { readyPid } = await server.hold({ scene, bytes: "1GiB" });
    const look = readLook(await server.run(["snapshot", "--json"]));
    const pids = look.holders.map(({ pid }) => pid);

    assert.deepEqual(holdersOf(look), holders);
    assert.deepEqual(ghostsOf(look), dead.map((bytes) => [bytes, pids]));
    assert.ok(pids.includes(readyPid), `PID ${readyPid} is not among ${pids}`);
    assert.equal(look.simulated, true);
  });
}

/** One look at a server of three GPUs that has these faults. */
async function lookWith(faults: string, ...options: string[]): Promise<Look> {
  await using server = await startSim({ gpus: 3, faults });
  return readLook(await server.run(["snapshot", "--json", ...options]));
}

test("gpuctl snapshot has a place for a GPU that is lost in every format, and is 3", async () => {
  await using server = await startSim({ gpus: 3, faults: "[gpu.1]\nlost = true" });
  const look = readLook(await server.run(["snapshot", "--json"]), 3);
  assert.deepEqual(look.gpus.map(({ index }) => index), [0, 2]);
  assert.deepEqual(look.unreadableGpus, [{ index: 1, why: "lost", detail: "GPU is lost" }]);
  assert.deepEqual(problemsOf(look), ["GPU 1 cannot be read"]);

  const [table, csv, prometheus] = await Promise.all([
    server.run(["snapshot"]),
    server.run(["snapshot", "--format", "csv"]),
    server.run(["snapshot", "--format", "prometheus"]),
  ]);
  assert.deepEqual([table.status, csv.status, prometheus.status], [3, 3, 3]);
  assert.match(table.stdout, /^ {2}0 .*\n {2}1 {2}LOST +\? +\? +\? +\?\n {2}2 /m);
  assert.match(
    table.stdout,
    /^1 of 3 GPUs has fallen off the bus: gpuctl reset-gpu --source sim:\S+ 1\. 0 B of .* in use on 2 of 3 GPUs; not known on the rest\./m,
  );
  assert.match(csv.stdout, /,unreadable-gpu,,1,/);
  assert.match(prometheus.stdout, /^gpuctl_gpu_unreadable\{index="1",why="lost"\} 1$/m);
});

test("gpuctl snapshot judges only the GPUs that were asked for, and takes one that is lost by its index", async () => {
  await using server = await startSim({ gpus: 3, faults: "[gpu.1]\nlost = true" });
  const look = async (list: string, status: number) => {
    const { gpus, unreadableGpus } = readLook(
      await server.run(["snapshot", "--json", "--gpu", list]),
      status,
    );
    return [gpus.map(({ index }) => index), unreadableGpus.map(({ index }) => index)];
  };
  assert.deepEqual(await look("0,2", 0), [[0, 2], []]);
  assert.deepEqual(await look("1", 3), [[], [1]]);
  assert.deepEqual(await look("0-1", 3), [[0], [1]]);
});

test("gpuctl snapshot names the GPUs where all of them are lost", async () => {
  await using server = await startSim({ gpus: 2, faults: "[gpu.0]\nlost = true\n[gpu.1]\nlost = true" });
  const { status, stdout } = await server.run(["snapshot"]);
  assert.equal(status, 3);
  assert.match(stdout, /^2 of 2 GPUs have fallen off the bus: gpuctl reset-gpu --source sim:\S+ 0-1\. /m);
  assert.doesNotMatch(stdout, /No GPU was seen/);
});

test("gpuctl snapshot says that a GPU needs a reset", async () => {
  const { gpus } = await lookWith('[gpu.1]\nrecovery-action = "reset"');
  assert.deepEqual(gpus.map(({ recoveryAction }) => recoveryAction), ["none", "reset", "none"]);
});

test("gpuctl snapshot takes a list that is denied or cut off for unknown, never for empty", async () => {
  const look = await lookWith('[gpu.0]\nprocess-list = "denied"\n[gpu.1]\nprocess-list = "truncated"');
  assert.deepEqual(look.gpus.map(({ processList, contexts }) => [processList, contexts]), [
    ["unknown", null],
    ["incomplete", []],
    ["known", []],
  ]);
  assert.deepEqual(look.gpus.map(({ unattributedBytes }) => unattributedBytes), [null, null, 0]);
  assert.deepEqual(problemsOf(look), [
    "The process list of GPU 0 cannot be read: that is not the same as no process",
    "The process list of GPU 1 is incomplete",
  ]);
});

test("gpuctl snapshot shows memory that no process is listed with, and a utilization that has stuck", async () => {
  const faults = '[gpu.0]\nunattributed = "3GiB"\n[gpu.1]\nutilization-latch = true';
  const { gpus } = await lookWith(faults, "--utilization");
  assert.deepEqual(gpus.map(({ unattributedBytes }) => unattributedBytes), [3 * GIB, 0, 0]);
  assert.deepEqual(gpus.map(({ utilizationPercent }) => utilizationPercent), [0, 100, 0]);
});

test("gpuctl snapshot shows the MIG devices of a GPU, and finds the GPU by one of them", async () => {
  const faults =
    '[[gpu.1.mig]]\ngpu-instance = 1\ncompute-instance = 0\nprofile = "1g.18gb"\nmemory = "16GiB"';
  const { gpus } = await lookWith(faults, "--gpu", "MIG-51300001");
  assert.deepEqual(
    gpus.map(({ index, migInstances }) => [
      index,
      migInstances?.map(({ uuid, memoryTotalBytes }) => [uuid, memoryTotalBytes]),
    ]),
    [[1, [["MIG-51300001-0000-4000-8000-000100000001", 16 * GIB]]]],
  );
});

test("gpuctl snapshot tells a client of MPS from the server, and takes neither for left behind", async () => {
  await using server = await startSim({ gpus: 1, faults: "[gpu.0]\nmps = true" });
  await server.hold({ bytes: "1GiB" });
  const look = readLook(await server.run(["snapshot", "--json"]));
  assert.deepEqual(look.gpus[0]?.contexts?.map(({ kind }) => kind), ["mps-client"]);
  assert.deepEqual(holdersOf(look), [["live", 1024 + CONTEXT_MIB]]);
});

test("gpuctl snapshot answers from /proc within its deadline when the driver hangs, and leaves no helper behind", async () => {
  await using server = await startSim({ gpus: 2, faults: "hang = true" });
  const hold = await server.hold();
  const start = performance.now();
  const ended = await server.run(["snapshot", "--json", "--deadline", "300ms"]);
  const tookMs = performance.now() - start;
  const look = readLook(ended, 3);

  // The deadline, the start of the program and a busy machine.
  assert.ok(tookMs < 3000, `took ${tookMs} ms`);
  assert.deepEqual([look.source, look.simulated], ["proc", true]);
  assert.deepEqual(look.gpus.map(({ memoryUsedBytes, processList }) => [memoryUsedBytes, processList]), [
    [null, "unknown"],
    [null, "unknown"],
  ]);
  assert.deepEqual(look.holders.map(({ pid, class: name }) => [pid, name]), [[hold.readyPid, "live"]]);
  assert.equal(
    problemsOf(look).includes("The driver gave no answer: what follows is from /proc alone"),
    true,
  );
  assert.deepEqual(helpersOn(server.folder), []);
});

/** Helpers of gpuctl that have to do with a simulated server. */
function helpersOn(folder: string): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    const words = readWords(pid);
    return words.includes("helper") && words.includes(gpuctlCommand().at(-1) ?? "") &&
      readText(`/proc/${pid}/environ`).includes(folder);
  });
}

function readWords(pid: string): string[] {
  return readText(`/proc/${pid}/cmdline`).split("\0");
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // It has ended, or is not ours to read: no helper of ours either way.
  }
}

test("gpuctl snapshot --gpu takes indexes, ranges, beginnings of UUIDs and PCI addresses", async () => {
  await using server = await startSim({ gpus: 4 });
  const chosen = async (list: string) =>
    readLook(await server.run(["snapshot", "--json", "--gpu", list])).gpus.map(({ index }) => index);
  assert.deepEqual(await chosen("2"), [2]);
  assert.deepEqual(await chosen("0,2-3"), [0, 2, 3]);
  assert.deepEqual(await chosen("GPU-51300001"), [1]);
  assert.deepEqual(await chosen("0000:02:00.0"), [1]);
});

test("gpuctl snapshot --gpu is 3 for a GPU that is not there, and 2 for what is no GPU", async () => {
  await using server = await startSim({ gpus: 2 });
  const complain = async (list: string) => {
    const { status, stdout, stderr } = await server.run(["snapshot", "--gpu", list]);
    return [status, stdout, stderr];
  };
  const invalid = (why: string) => [
    2,
    "",
    `gpuctl: Cannot use --gpu: ${why}\n  hint: gpuctl snapshot --help says what it takes\n`,
  ];
  assert.deepEqual(await complain("1-3"), [
    3,
    "",
    "gpuctl: Cannot select GPU 1-3: this machine has GPU 0-1\n" +
    `  hint: gpuctl snapshot --source sim:${server.folder} lists the GPUs\n`,
  ]);
  assert.deepEqual(
    await complain("first"),
    invalid('Cannot parse "first" as a GPU: expected an index, a range, a UUID or a PCI address'),
  );
  assert.deepEqual(
    await complain("3-1"),
    invalid('Cannot parse "3-1" as GPUs: the range runs backwards'),
  );
});
