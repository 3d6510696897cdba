import assert from "node:assert/strict";
import { test } from "node:test";
import { milliseconds } from "../../../../lib/core/units.ts";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { gpuNodePath, readDescription } from "../../../../lib/source/sim/server.ts";
import { orderSimUnit } from "../../../../lib/source/sim/units.ts";
import { realClock } from "../../../../lib/world/clock.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { isRunning, startVictim } from "../../../support/victim.ts";

const UNIT = "nvidia-dcgm.service";
const OPENS = 'exec 3< "$NODE"; ';
const WAITS = "echo ready; while :; do sleep 0.05; done";
const DONE = { kind: "ended", status: 0, signal: undefined, text: "" };

/** A server with a service whose main process runs this script. */
async function startService(script: string) {
  const folder = temporaryFolder();
  initSimServer(folder.path, { gpus: 1 });
  const main = await startVictim(script, { env: { NODE: gpuNodePath(folder.path, 0) } });
  const faults = `[[services]]\nunit = "${UNIT}"\nmain-pid = ${main.pid}\n`;
  initSimServer(folder.path, { faultsPath: folder.write("faults.toml", faults) });
  return {
    main,
    order: (order: "stop" | "start", unit = UNIT, span = milliseconds(10_000)) =>
      orderSimUnit(folder.path, { order, unit, span }, realClock),
    isActive: () => readDescription(folder.path).faults.services?.[0]?.active,
    async [Symbol.asyncDispose]() {
      await main[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

test("orderSimUnit() returns once the main process of a service that stops is gone", async () => {
  await using service = await startService(OPENS + WAITS);
  assert.deepEqual(await service.order("stop"), DONE);
  assert.deepEqual([isRunning(service.main.identity), service.isActive()], [false, false]);
  assert.deepEqual(await service.order("start"), DONE);
  assert.equal(service.isActive(), true);
});

test("orderSimUnit() touches no process that has nothing of the server open", async () => {
  await using service = await startService(WAITS);
  assert.deepEqual(await service.order("stop"), DONE);
  assert.deepEqual([isRunning(service.main.identity), service.isActive()], [true, false]);
});

test("orderSimUnit() is late where the main process does not end, and the service is still active", async () => {
  await using service = await startService(`trap '' TERM; ${OPENS}${WAITS}`);
  assert.deepEqual(await service.order("stop", UNIT, milliseconds(100)), { kind: "timed-out" });
  assert.deepEqual([isRunning(service.main.identity), service.isActive()], [true, undefined]);
});

test("orderSimUnit() says that a unit is not loaded", async () => {
  await using service = await startService(OPENS + WAITS);
  assert.deepEqual(await service.order("stop", "none.service"), {
    kind: "ended",
    status: 5,
    signal: undefined,
    text: "Unit none.service not loaded.\n",
  });
  assert.equal(isRunning(service.main.identity), true);
});
