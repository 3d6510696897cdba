/**
 * The chaos test of clean-zombies: trees of processes grow and die on a simulated server while gpuctl cleans it. Who must
 * live lives, what was left behind goes, and the audit log names nobody else.
 *
 *     deno task chaos [--trees N] [--seed N] [--seconds N] [--churn]
 */
import { parseArgs } from "node:util";
import process from "node:process";
import { playChaos } from "../tests/chaos/game.ts";
import { say } from "./say.ts";

const { values } = parseArgs({
  options: {
    trees: { type: "string", default: "100" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    seconds: { type: "string", default: "600" },
    churn: { type: "boolean", default: false },
  },
});

const result = await playChaos({
  trees: Number(values.trees),
  seed: Number(values.seed),
  seconds: Number(values.seconds),
  churns: values.churn,
  tell: say,
});
process.exitCode = result.failures.length > 0 ? 1 : 0;
