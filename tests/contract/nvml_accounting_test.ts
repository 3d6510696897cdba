/** The driver's record of who used a GPU, read through the FFI from the stand-in for its library. */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { pid } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import { bytes } from "../../lib/core/units.ts";
import { readReport } from "../support/driver_reports.ts";
import { buildStub, type ScenarioGpu, type Stub } from "../support/nvml_stub.ts";

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

async function readAccounting(gpu: ScenarioGpu) {
  const report = await readReport(stub, { gpus: [gpu] }, { withAccounting: true });
  return report.ok ? report.value.gpus[0]?.accounting : report;
}

test("openNvmlSource() reads who used a GPU, and only when asked", async () => {
  const accounted = [
    { pid: 812, peakBytes: 612 * 2 ** 20, startedAt: 1_764_500_000_000_000 },
    { pid: 900, peakBytes: 0xffff_ffff_ffff_ffffn, startedAt: 7, isRunning: true },
  ];
  assert.deepEqual(
    await readAccounting({ accounted }),
    known([
      {
        pid: pid(812),
        startedAt: 1_764_500_000_000_000,
        peak: known(bytes(612 * 2 ** 20)),
        isRunning: false,
      },
      { pid: pid(900), startedAt: 7, peak: absent("not-reported"), isRunning: true },
    ]),
  );
  const unasked = await readReport(stub, { gpus: [{ accounted }] });
  assert.equal(unasked.ok && unasked.value.gpus[0] && "accounting" in unasked.value.gpus[0], false);
});

test("openNvmlSource() tells a driver that keeps no account from one that has nobody on record", async () => {
  assert.deepEqual(await readAccounting({}), absent("not-supported", "accounting mode is off"));
  assert.deepEqual(await readAccounting({ accounted: [] }), known([]));
});

test("openNvmlSource() passes over a record that was overwritten, and fails on any other trouble", async () => {
  const record = { pid: 812, peakBytes: 1, startedAt: 1 };
  assert.deepEqual(await readAccounting({ accounted: [{ ...record, isGone: true }] }), known([]));
  const denied = await readAccounting({
    accounted: [record],
    fail: { nvmlDeviceGetAccountingStats: 4 },
  });
  assert.equal(denied?.ok === false && denied.why, "no-permission");
});

test("openNvmlSource() takes a library without accounting for what it is", async () => {
  const missing = await readAccounting({ fail: { nvmlDeviceGetAccountingMode: 3 } });
  assert.equal(missing?.ok === false && missing.why, "not-supported");
});
