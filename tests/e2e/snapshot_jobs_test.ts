import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSnapshot } from "../../lib/model/decode.ts";
import { runGpuctl } from "../support/binary.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";

/** Starts a launcher with two ranks, and waits for them. */
async function startRanks(sim: SimulatedServer, gpus: string) {
  const words = ["sim", "hold", "--gpu", gpus, "--bytes", "512MiB", "--ranks", "2", "--for", "60s"];
  const launcher = sim.start(words);
  await launcher.untilOutput(/^ready/m);
  return launcher;
}

test("gpuctl snapshot shows the ranks of each of two jobs as one job, in JSON and in a table", async () => {
  await using sim = await startSim({ gpus: 4 });
  await using first = await startRanks(sim, "0,1");
  await using second = await startRanks(sim, "2,3");

  const { stdout: json } = await sim.run(["snapshot", "--json"]);
  const { holders } = parseSnapshot(json);
  const ranksOf = (launcher: number) =>
    holders.filter(({ parentPid }) => parentPid.ok && parentPid.value === launcher);
  for (const { pid } of [first, second]) {
    const ranks = ranksOf(pid);
    const firstPid = ranks[0]?.pid;
    assert.deepEqual(
      ranks.map(({ job }) => job),
      [0, 1].map((rank) => ({ launcher: "torchrun", firstPid, rank })),
    );
  }

  const { stdout: table } = await sim.run(["snapshot"]);
  const lines = table.split("\n").filter((line) => line.includes("torchrun job")).map((line) => line.trim());
  const named = (launcher: number) => ranksOf(launcher).map(({ pid }) => pid);
  assert.deepEqual(lines.map((line) => line.replace(/: .*/, "")), [
    "torchrun job, 2 ranks on GPU 0-1",
    "torchrun job, 2 ranks on GPU 2-3",
  ]);
  for (const [place, { pid }] of [first, second].entries()) {
    for (const rank of named(pid)) assert.match(lines[place] ?? "", new RegExp(`\\b${rank}\\b`));
  }

  const { stdout: redacted } = await runGpuctl(["snapshot", "--redact", "--source", "-"], { input: json });
  assert.match(redacted, /torchrun job, 2 ranks on GPU 0-1/);
});
