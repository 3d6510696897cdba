/** The calls that set clocks back, through the FFI to the stand-in for the driver's library. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { gpuUuid } from "../../lib/core/ids.ts";
import { milliseconds } from "../../lib/core/units.ts";
import { CLOCK_KINDS, type ClockOrder } from "../../lib/model/clock_order.ts";
import { openNvmlSource } from "../../lib/source/nvml/source.ts";
import { buildStub, loadScenario, type ScenarioGpu, type Stub } from "../support/nvml_stub.ts";

const SECOND = gpuUuid("GPU-00000001-1111-2222-3333-444444444444");

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

/** Carries an order out on a machine with two GPUs, and says what the library was made to change. */
async function carryOut(order: ClockOrder, second: ScenarioGpu = {}) {
  await loadScenario(stub, { gpus: [{}, second] });
  const changes = `${stub.scenario}.changes`;
  rmSync(changes, { force: true });
  const source = await openNvmlSource(() => milliseconds(0), { library: stub.library, order });
  return { source, changes: existsSync(changes) ? readFileSync(changes, "utf8").trimEnd().split("\n") : [] };
}

test("openNvmlSource() sets back the clocks that it is told to, of that GPU alone, and can then be read", async () => {
  const calls = [];
  for (const clocks of CLOCK_KINDS) {
    const { source, changes } = await carryOut({ gpu: SECOND, clocks });
    calls.push(...changes);
    assert.equal(source.ok && source.value.read({ withUtilization: false }).ok, true);
  }
  assert.deepEqual(calls, [
    `${SECOND} nvmlDeviceResetGpuLockedClocks`,
    `${SECOND} nvmlDeviceResetMemoryLockedClocks`,
    `${SECOND} nvmlDeviceResetApplicationsClocks`,
  ]);
});

test("openNvmlSource() says why clocks could not be set back, and changes nothing", async () => {
  const order = { gpu: SECOND, clocks: "graphics" } as const;
  const whys = [];
  for (const status of [3, 4, 26]) {
    const { source, changes } = await carryOut(order, { fail: { nvmlDeviceResetGpuLockedClocks: status } });
    whys.push([source.ok || source.why, changes]);
  }
  assert.deepEqual(whys, [["not-supported", []], ["no-permission", []], ["not-supported", []]]);
  const stranger = await carryOut({ gpu: gpuUuid("GPU-ffffffff"), clocks: "graphics" });
  assert.deepEqual([stranger.source.ok || stranger.source.why, stranger.changes], ["not-reported", []]);
});

test("openNvmlSource() changes nothing without an order", async () => {
  await loadScenario(stub, { gpus: [{}] });
  rmSync(`${stub.scenario}.changes`, { force: true });
  const source = await openNvmlSource(() => milliseconds(0), { library: stub.library });
  assert.equal(source.ok && source.value.read({ withUtilization: true, withHealth: true }).ok, true);
  assert.equal(existsSync(`${stub.scenario}.changes`), false);
});
