import fc from "fast-check";
import { writeFileSync } from "node:fs";
import { FUZZ_TARGETS } from "./targets.ts";
const t = FUZZ_TARGETS[0]!;
const samples = fc.sample(t.inputs, { numRuns: 20000, seed: Number(process.argv[2] ?? 1) });
let n = 0;
for (const m of samples) {
  writeFileSync("/tmp/gx-read/last.txt", m.text);
  n++;
  try { await t.check(m); } catch (e) { console.log(n, String(e).slice(0, 1500)); break; }
}
console.log(n);
