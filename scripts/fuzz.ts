/**
 * Fuzzes every parser, or those whose name holds a given word: real inputs damaged, and pieces that nobody wrote.
 *
 *     deno run -A scripts/fuzz.ts [--seconds N] [--runs N] [--seed N] [WORD]
 *
 * The seconds are shared out among the parsers.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { fuzz } from "../tests/fuzz/fuzz.ts";
import { FUZZ_TARGETS } from "../tests/fuzz/targets.ts";
import { say } from "./say.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "60" },
    runs: { type: "string", default: "1000000000" },
    seed: { type: "string" },
  },
});
const [word = ""] = positionals;
const chosen = FUZZ_TARGETS.filter(({ name }) => name.includes(word));
const limits = {
  runs: Number(values.runs),
  within: Number(values.seconds) * 1000 / Math.max(1, chosen.length),
  ...values.seed !== undefined && { seed: Number(values.seed) },
};

let total = 0;
let seconds = 0;
for (const target of chosen) {
  try {
    const { tried, took, slowest } = await fuzz(target, limits);
    total += tried;
    seconds += took / 1000;
    say(`${target.name}: ${tried} inputs in ${(took / 1000).toFixed(1)} s, slowest ${slowest.toFixed(1)} ms`);
  } catch (error) {
    say(`${target.name}: FAILED\n${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
const mostMemory = Math.round(process.resourceUsage().maxRSS / 1024);
say(`${total} inputs in ${seconds.toFixed(1)} s; at most ${mostMemory} MiB of memory`);
