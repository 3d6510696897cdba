/** A simulated server is a machine of its own: its first PID namespace is the one in which it was made. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { quoteArguments } from "../../lib/core/text.ts";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { gpuctlCommand, withRuntime } from "../support/binary.ts";
import { runProgram } from "../support/running_program.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

const GPUCTL = quoteArguments(gpuctlCommand());

/** Runs a shell script as the first process of a new PID namespace. */
function runInNewNamespace(script: string, env: Readonly<Record<string, string>>) {
  const namespace = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;
  return runProgram([...namespace, "/bin/sh", "-c", script], withRuntime({ env }));
}

test("clean-zombies refuses a server that was made outside its PID namespace", NEEDS_ROOT, async () => {
  await using server = await startSim({ gpus: 1 });
  const { status, stderr } = await runInNewNamespace(`${GPUCTL} clean-zombies`, server.env);
  assert.equal(status, 5);
  assert.equal(
    stderr.split("\n")[0],
    "gpuctl: Cannot clean from inside a PID namespace: processes outside it cannot be seen or told apart",
  );
});

test("clean-zombies judges a server that was made in the same PID namespace", NEEDS_ROOT, async () => {
  using folder = temporaryFolder();
  const env = { GPUCTL_SOURCE: `sim:${folder.path}/server` };
  const script = `${GPUCTL} sim init ${folder.path}/server --gpus 1 >&2; ${GPUCTL} clean-zombies --yes`;
  const { status, stdout } = await runInNewNamespace(script, env);
  assert.deepEqual([status, stdout], [
    0,
    "SIMULATED SERVER: no real GPU is behind these numbers\nNothing to clean: 0 holders, none of them left behind.\n",
  ]);
});
