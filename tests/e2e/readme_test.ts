/** The commands that README.md shows, run as they stand there, on a simulated server. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { quoteArguments } from "../../lib/core/text.ts";
import { gpuctlCommand, withRuntime } from "../support/binary.ts";
import { holdAtRest } from "../support/cleaning.ts";
import { type Ended, runProgram } from "../support/running_program.ts";
import { startSim } from "../support/sim.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary.ts";

const README = readFileSync(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");
const GPUCTL = quoteArguments(gpuctlCommand());

/** What the command lines of a README's section do, in order: status, and something that is then on the terminal. */
const USES: readonly (readonly [line: string, status: number, says: RegExp])[] = [
  ["gpuctl snapshot", 0, /^Nobody holds GPU memory\.|^0 B of /m],
  ["gpuctl snapshot --json -o before.json", 0, /^$/],
  ["gpuctl diff -- python job.py", 10, /inherited/],
  ["gpuctl diff --kill-leftovers -- pytest tests", 10, /ended/],
  ["gpuctl diff before.json after.json", 0, /./],
  ["gpuctl clean-zombies", 10, /would be ended/],
  ["gpuctl clean-zombies --yes", 0, /^1 process ended, .* came back\.$/m],
  ["gpuctl sim init FOLDER/made --gpus 8", 0, /^Simulated server with 8 GPUs\. /],
];

test("README.md shows commands that do what it says", async () => {
  const [, block = ""] = /^## Use it\n\n```sh\n([^]*?)\n```$/m.exec(README) ?? [];
  using folder = temporaryFolder();
  const lines = block.split("\n").map((line) =>
    line.replace(/ +#.*$/, "").replace("/tmp/server", "FOLDER/made")
  );
  assert.deepEqual(lines, USES.map(([line]) => line));

  await using server = await startSim({ gpus: 1 });
  const run = openStage(folder, server.env);
  for (const [line, status, says] of USES) {
    if (line.includes("after.json")) await run("cp before.json after.json");
    // What the jobs above left behind has ended with their runs.
    if (line === "gpuctl clean-zombies") await holdAtRest(server, { scene: "forked-child" });
    const ended = await run(line.replace("FOLDER", folder.path));
    assert.deepEqual([line, ended.status], [line, status], `${ended.stdout}${ended.stderr}`);
    assert.match(`${ended.stdout}${ended.stderr}`, says);
  }
});

/** A folder in which `gpuctl` is on the path, and `python` and `pytest` are jobs that leave a child behind. */
function openStage(folder: TemporaryFolder, env: Readonly<Record<string, string>>) {
  const job = `${GPUCTL} sim hold --scene forked-child --clean-exit --for 60s >/dev/null 2>&1`;
  for (const [name, command] of [["gpuctl", `exec ${GPUCTL} "$@"`], ["python", job], ["pytest", job]]) {
    chmodSync(folder.write(`bin/${name}`, `#!/bin/sh\n${command}\n`), 0o755);
  }
  const path = `${join(folder.path, "bin")}:${process.env["PATH"]}`;
  const options = { ...env, GPUCTL_MIN_AGE: "0s", GPUCTL_CONFIRM: "100ms", GPUCTL_SETTLE: "1s", PATH: path };
  return (line: string): Promise<Ended> =>
    runProgram(["sh", "-c", line], withRuntime({ env: options, cwd: folder.path }));
}
