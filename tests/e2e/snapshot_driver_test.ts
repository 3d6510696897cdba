/** `gpuctl snapshot` with a driver: none, and a library that stands in for the real one. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { runGpuctl } from "../support/binary.ts";
import { problemsOf, readLook } from "../support/look.ts";
import { buildStub, type Scenario, SCENARIO_VARIABLE, writeScenario } from "../support/nvml_stub.ts";

const MIB = 1024 ** 2;

const stub = buildStub();
after(() => stub[Symbol.dispose]());

/** Runs a snapshot with the stand-in, which answers from this scenario. */
function runWith(scenario: Scenario, ...args: string[]) {
  writeScenario(stub, scenario);
  return runGpuctl(["snapshot", "--json", "--source", `nvml:${stub.library}`, ...args], {
    env: { [SCENARIO_VARIABLE]: stub.scenario },
  });
}

test(
  "gpuctl snapshot is 3 without a driver, and says so in every format",
  { skip: hasDriver() },
  async () => {
    const [table, csv, json] = await Promise.all([
      runGpuctl(["snapshot"]),
      runGpuctl(["snapshot", "--format", "csv"]),
      runGpuctl(["snapshot", "--json"]),
    ]);
    const look = readLook(json, 3);
    assert.deepEqual([look.source, look.gpus, look.holders, problemsOf(look)], [
      "nvml",
      [],
      [],
      ["The driver gave no answer"],
    ]);
    assert.match(table.stdout, /^No GPU was seen\. /m);
    assert.match(
      table.stdout,
      /^ {2}The driver gave no answer \[not supported here \(no NVIDIA driver is loaded/m,
    );
    assert.deepEqual([table.status, csv.status, csv.stdout.trimEnd().split("\n").length], [3, 3, 1]);
  },
);

test("gpuctl snapshot --source nvidia-smi is 3 where there is none", { skip: hasDriver() }, async () => {
  const { status, stdout, stderr } = await runGpuctl(["snapshot", "--source", "nvidia-smi"]);
  assert.deepEqual([status, stdout, stderr], [
    3,
    "",
    "gpuctl: Cannot ask nvidia-smi: it is not installed here\n",
  ]);
});

function hasDriver(): string | false {
  return existsSync("/proc/driver/nvidia/version") && "this machine has a driver";
}

test("gpuctl snapshot reads sixteen GPUs from the driver's library", async () => {
  const gpus = Array.from({ length: 16 }, (_, index) => ({ usedBytes: index * MIB }));
  const look = readLook(await runWith({ gpus }));
  assert.deepEqual(
    look.gpus.map(({ index, memoryUsedBytes }) => [index, memoryUsedBytes]),
    gpus.map(({ usedBytes }, index) => [index, usedBytes]),
  );
});

test("gpuctl snapshot reads a list in full that grows while it is asked for", async () => {
  const processes = Array.from({ length: 90 }, (_, place) => ({ pid: 20_000 + place, usedBytes: MIB }));
  const { gpus } = readLook(await runWith({ gpus: [{ usedBytes: 100 * MIB, processes, grows: 1 }] }));
  assert.deepEqual(
    gpus.map(({ processList, contexts }) => [processList, (contexts?.length ?? 0) >= processes.length]),
    [["known", true]],
  );
});

test("gpuctl snapshot is 3 within its deadline when the library hangs, and leaves no helper behind", async () => {
  const start = performance.now();
  const ended = await runWith({ gpus: [{ hang: ["nvmlDeviceGetHandleByIndex_v2"] }] }, "--deadline", "300ms");
  const tookMs = performance.now() - start;
  const look = readLook(ended, 3);

  assert.ok(existsSync(`${stub.scenario}.hanging`), "the library was never asked");
  assert.ok(tookMs < 3000, `took ${tookMs} ms`);
  assert.deepEqual(look.gpus, []);
  assert.deepEqual(look.problems[0], {
    at: null,
    subject: "driver",
    why: "timed-out",
    detail: "the driver gave no answer within 300 ms",
    message: "The driver gave no answer",
  });
  assert.deepEqual(processesWith(stub.scenario), []);
});

test("gpuctl snapshot shows a GPU that fails beside one that answers", async () => {
  const look = readLook(await runWith({ gpus: [{}, { fail: { nvmlDeviceGetMemoryInfo_v2: 15 } }] }));
  assert.deepEqual(look.gpus.map(({ index, memoryUsedBytes }) => [index, memoryUsedBytes]), [[0, 0], [
    1,
    null,
  ]]);
});

/** Processes that have a text in their environment: what a run has left behind. */
function processesWith(text: string): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(text);
    } catch {
      return false; // It has ended, or is somebody else's.
    }
  });
}
