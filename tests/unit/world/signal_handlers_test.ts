import process from "node:process";
import { test } from "node:test";
import assert from "node:assert/strict";
import { catchSignals } from "../../../lib/world/signal_handlers.ts";
import { until } from "../../support/until.ts";

test("catchSignals() keeps a signal from ending us and tells of it, until it is disposed of", async () => {
  const caught: unknown[] = [];
  {
    using _signals = catchSignals((signal) => caught.push(signal));
    process.kill(process.pid, "SIGUSR2");
    await until("the signal to arrive", () => caught.length > 0);
  }

  assert.deepEqual(caught, [{ signal: "SIGUSR2", isFromTerminal: false }]);
  assert.equal(process.listenerCount("SIGUSR2"), 0);
});

test("catchSignals() keeps timers and limits from ending us only for who asks for that", async () => {
  let count = 0;
  {
    using _signals = catchSignals(() => {}, () => count++);
    process.kill(process.pid, "SIGALRM");
    await until("the signal to arrive", () => count > 0);
  }
  using _plain = catchSignals(() => {});
  assert.deepEqual([count, process.listenerCount("SIGALRM"), process.listenerCount("SIGXCPU")], [1, 0, 0]);
});
