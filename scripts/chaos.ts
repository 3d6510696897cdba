/**
 * The chaos test of clean-zombies: trees of processes grow and die on a simulated server while gpuctl cleans it. Who must
 * live lives, what was left behind goes, and the audit log names nobody else.
 *
 *     deno task chaos [--trees N] [--seed N] [--seconds N] [--pids N]
 *
 * With --pids all of it happens in a PID namespace with so many pids, where innocent processes come and go.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runInSmallNamespace } from "../tests/chaos/forest.ts";
import { playChaos } from "../tests/chaos/game.ts";
import { say } from "./say.ts";
import { DENO } from "./toolchain.ts";

const { values } = parseArgs({
  options: {
    trees: { type: "string", default: "100" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    seconds: { type: "string", default: "600" },
    pids: { type: "string" },
    churn: { type: "boolean", default: false },
  },
});
const { trees, seed, seconds, pids, churn } = values;

if (pids === undefined) {
  const numbers = { trees: Number(trees), seed: Number(seed), seconds: Number(seconds) };
  const { failures } = await playChaos({ ...numbers, churns: churn, tell: say });
  process.exitCode = failures.length > 0 ? 1 : 0;
} else {
  const script = [DENO, "run", "--allow-all", "--no-check", fileURLToPath(import.meta.url)];
  const options = ["--trees", trees, "--seed", seed, "--seconds", seconds, "--churn"];
  process.exitCode = await runInSmallNamespace(Number(pids), [...script, ...options]);
}
