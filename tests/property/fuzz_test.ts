/** A short round of `deno task fuzz`: real inputs damaged, and pieces that nobody wrote, for every parser. */
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { fuzz } from "../fuzz/fuzz.ts";
import { FUZZ_TARGETS } from "../fuzz/targets.ts";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 400);
const WITHIN_MS = 60_000;

for (const target of FUZZ_TARGETS) {
  test(`fuzzing: ${target.name}`, async () => {
    const { tried } = await fuzz(target, { runs: RUNS, within: WITHIN_MS });
    assert.ok(tried > 0);
  });
}
