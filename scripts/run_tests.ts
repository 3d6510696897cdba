/**
 * Runs the tests and ends with one line, `N passed, N failed`.
 *
 *     deno task test               every layer that needs no GPU
 *     deno task test unit e2e      only these
 *     deno task ok                 the gate: format, lint, types, layers and README as well
 *
 * Every step runs, also after another has failed.
 */
import process from "node:process";
import { BUILD, GATES } from "./gates.ts";
import { runJobs } from "./jobs.ts";
import { endChildrenWithUs } from "./run_command.ts";
import { say, warn } from "./say.ts";
import { sumLine } from "./tally.ts";
import { DEFAULT_LAYERS, isLayerName, layerJobs, LAYERS, notProven } from "./test_layers.ts";

const WITH_GATES = "--with-gates";

// A test that runs this runner may do so once; deeper, a mistake would multiply without end.
const depth = Number(process.env["GPUCTL_TEST_DEPTH"] ?? "0");
if (!(depth < 2)) {
  warn("test: this runner is running inside its own tests twice over; stopped");
  process.exit(2);
}
process.env["GPUCTL_TEST_DEPTH"] = String(depth + 1);

const words = process.argv.slice(2);
const asked = words.filter((word) => word !== WITH_GATES);
const unknown = asked.filter((name) => !isLayerName(name));
if (unknown.length > 0) {
  warn(`test: no layer is called ${unknown.join(", ")}; there are ${Object.keys(LAYERS).join(", ")}`);
  process.exit(2);
}

endChildrenWithUs();
const layers = asked.length > 0 ? asked.filter(isLayerName) : DEFAULT_LAYERS;
const tests = layers.flatMap(layerJobs);
const before = words.includes(WITH_GATES)
  ? GATES
  : tests.some(({ needs }) => needs === BUILD.name)
  ? [BUILD]
  : [];
const tally = await runJobs([...before, ...tests]);
for (const line of notProven(layers)) say(line);
say(sumLine(tally));
process.exitCode = tally.failed === 0 ? 0 : 1;
