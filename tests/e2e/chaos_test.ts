import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { whyNoSmallNamespace } from "../chaos/forest.ts";
import { playChaos } from "../chaos/game.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/chaos.ts", import.meta.url));

test("gpuctl clean-zombies ends what was left behind, and nobody else, while trees of processes grow and die", async () => {
  const told: string[] = [];
  const { failures, trees } = await playChaos({
    trees: 8,
    seed: 2,
    seconds: 60,
    tell: (line) => told.push(line),
  });
  assert.deepEqual(failures, [], told.join("\n"));
  assert.equal(trees, 8);
});

const why = whyNoSmallNamespace();
test(
  "gpuctl clean-zombies ends nobody else where pids come round within seconds",
  { skip: why ?? false },
  () => {
    const args = ["run", "--allow-all", "--no-check", SCRIPT, "--trees", "8", "--seed", "7", "--pids", "500"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      timeout: 60_000,
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.match(stdout, /pids came round [1-9]\d* times/);
  },
);
