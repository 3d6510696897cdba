import assert from "node:assert/strict";
import { test } from "node:test";
import { median, race } from "../../scripts/bench/race.ts";

const OPTIONS = { rounds: 3, warmups: 1, env: {} };

test("race() times every contestant in every round, warm-ups left out", () => {
  const [sleeper, idler] = race([
    { name: "sleeper", command: ["/bin/sleep", "0.05"] },
    { name: "idler", command: ["/bin/true"] },
  ], OPTIONS);
  assert.deepEqual([sleeper?.name, sleeper?.runs.length, idler?.name, idler?.runs.length], [
    "sleeper",
    3,
    "idler",
    3,
  ]);
  assert.equal(
    sleeper?.runs.every(({ wallMs, cpuMs, peakKiB }) => wallMs >= 50 && cpuMs < 50 && peakKiB > 0),
    true,
  );
});

test("race() counts the processor time of children that were waited for", () => {
  const busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
  const [result] = race([{ name: "busy", command: ["/bin/sh", "-c", `sh -c '${busy}'; true`] }], OPTIONS);
  assert.equal(result?.runs.every(({ wallMs, cpuMs }) => cpuMs > 20 && cpuMs < wallMs * 1.5), true);
});

test("race() refuses a contestant that failed", () => {
  assert.throws(() => race([{ name: "liar", command: ["/bin/false"] }], OPTIONS), {
    message: "Cannot time liar: it ended with status 1",
  });
  assert.equal(race([{ name: "liar", command: ["/bin/false"], statuses: [1] }], OPTIONS).length, 1);
});

test("race() says which program is not there", () => {
  assert.throws(() => race([{ name: "ghost", command: ["/no/such/program"] }], OPTIONS), {
    message: "Cannot run the race: stopwatch: cannot run /no/such/program\n",
  });
});

test("median() is the middle, or the mean of the middle two", () => {
  assert.deepEqual([median([3, 1, 2]), median([4, 1, 2, 3]), median([])], [2, 2.5, NaN]);
});
