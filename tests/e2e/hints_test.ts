/** What a report or an error says is to be done next reaches the machine that it speaks of. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDocument } from "../support/documents.ts";
import { startSim } from "../support/sim.ts";

/** GPUs of that generation that are linked are reset together. */
const FAULTS = [0, 1].map((own) => `[gpu.${own}]\narchitecture = "Volta"\nnvlink-peers = [${1 - own}]\n`)
  .join("");

interface Plan {
  readonly blockers: readonly { readonly remedy: string }[];
}

test("reset-gpu, snapshot and errors name the simulated server in the commands that they advise", async () => {
  await using sim = await startSim({ gpus: 2, faults: FAULTS });
  const option = `--source sim:${sim.folder}`;
  const plan = parseDocument<Plan>((await sim.run(["reset-gpu", "0", "--json"])).stdout);
  const remedies = plan.blockers.map(({ remedy }) => remedy);
  assert.ok(
    remedies.includes(`name them all, once they are free: gpuctl reset-gpu ${option} 0 1`),
    JSON.stringify(plan.blockers),
  );

  const { readyPid } = await sim.hold({ scene: "forked-child", gpu: 1 });
  const end = `gpuctl clean-zombies ${option} --pid ${readyPid}`;
  const { stdout } = await sim.run(["snapshot"]);
  assert.ok(stdout.includes(end) && stdout.includes(`gpuctl clean-zombies ${option} shows how`), stdout);
  const { stderr } = await sim.run(["verify-isolation", "--gpu", "7", "--pid", String(readyPid)]);
  assert.match(stderr, /Cannot select GPU 7/);
  assert.ok(stderr.includes(`hint: gpuctl snapshot ${option} lists the GPUs`), stderr);
});
