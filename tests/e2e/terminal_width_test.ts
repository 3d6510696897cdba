/** Reports keep to the width of the terminal that they go to, standard error's too. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { widthOf } from "../../lib/render/layout.ts";
import { gpuctlCommand, withRuntime } from "../support/binary.ts";
import { startSim } from "../support/sim.ts";
import { startOnTerminal } from "../support/terminal.ts";

const COLUMNS = 70;
const [program = "", ...runtime] = gpuctlCommand();

test("verify-isolation keeps to the terminal, whatever it judges", async () => {
  await using sim = await startSim({ gpus: 2 });
  const hold = [program, ...runtime, "sim", "hold", "--gpu", "0", "--for", "300ms"];
  const job = await sim.hold({ scene: "plain" });
  const lines = [
    ["verify-isolation", "--gpu", "1", "--", ...hold],
    ["verify-isolation", "--gpu", "1", "--pid", String(job.readyPid)],
  ];
  for (const words of lines) {
    await using run = startOnTerminal([program, ...runtime, ...words], {
      ...withRuntime({ env: { ...sim.env, NO_COLOR: "1" } }),
      columns: COLUMNS,
    });
    assert.equal((await run.ended).status, 10, run.stdout);
    const report = run.stdout.slice(run.stdout.indexOf("SIMULATED")).split("\r\n");
    assert.ok(report.some((line) => line.startsWith("VIOLATED")), run.stdout);
    // A command that is the fix stays whole: it is to be copied.
    assert.deepEqual(report.filter((line) => widthOf(line) > COLUMNS && line.trim().includes(" ")), []);
  }
});
