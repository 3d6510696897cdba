import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeResetResult, judgeResetResults } from "../../../lib/analysis/reset_result.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes } from "../../../lib/core/units.ts";
import type { Gpu } from "../../../lib/model/gpu.ts";
import { uuidOf } from "../../support/machine.ts";
import { resetInput, type ResetScene } from "../../support/reset_scene.ts";

const GIB = 1024 ** 3;

function gpuOf(changes: NonNullable<ResetScene["gpus"]>[0] = {}): Gpu {
  return resetInput({ gpus: { 0: changes ?? {} } }).gpus[0] ?? assert.fail();
}

function faultsOf(
  after: NonNullable<ResetScene["gpus"]>[0],
  before: NonNullable<ResetScene["gpus"]>[0] = {},
) {
  return judgeResetResult(gpuOf(before), gpuOf(after)).faults;
}

test("judgeResetResult() calls a GPU back that reads healthy again", () => {
  const before = gpuOf({ memoryUsed: known(bytes(40 * GIB)), recoveryAction: known("reset") });
  assert.deepEqual(judgeResetResult(before, gpuOf()), {
    gpu: uuidOf(0),
    index: 0,
    isBack: true,
    usedBefore: known(bytes(40 * GIB)),
    usedAfter: known(bytes(0)),
    faults: [],
  });
});

test("judgeResetResult() does not call a GPU back that the driver lists no more", () => {
  assert.deepEqual(judgeResetResult(gpuOf(), undefined), {
    gpu: uuidOf(0),
    index: 0,
    isBack: false,
    usedBefore: known(bytes(0)),
    usedAfter: absent("not-reported", "the GPU is gone"),
    faults: ["it did not come back: the driver lists it no more"],
  });
});

test("judgeResetResult() tells what a reset left as it was", () => {
  const rows = { correctable: 0, uncorrectable: 1, isPending: true, hasFailed: true };
  const fabric = known({ state: "in-progress" as const, status: 0 });
  assert.deepEqual(
    faultsOf({
      memoryUsed: known(bytes(10 * GIB)),
      recoveryAction: known("reboot"),
      migMode: known({ current: false, pending: true }),
      has: {
        ecc: known({ current: true, pending: false }),
        remappedRows: known(rows),
        hasRetirementPending: known(true),
        smClockMegahertz: known(0),
        hasNvSwitch: known(true),
        fabric,
      },
    }),
    [
      "10 GiB are still in use, and no process is listed with them",
      "the driver still asks for: reboot",
      "a change of ECC is still pending",
      "a change of MIG is still pending",
      "rows of its memory still wait to be remapped",
      "a row of its memory could not be remapped: have the card replaced",
      "pages of its memory still wait to be retired",
      "its clock stands at 0 MHz",
      "it has not joined its NVLink fabric: in-progress",
    ],
  );
});

test("judgeResetResult() wants everything that was read before to be read again", () => {
  const failed = absent("failed");
  const switched = { hasNvSwitch: known(true), fabric: known({ state: "completed" as const, status: 0 }) };
  assert.deepEqual(
    faultsOf({
      memoryUsed: failed,
      recoveryAction: failed,
      migMode: failed,
      has: {
        ecc: failed,
        remappedRows: failed,
        smClockMegahertz: failed,
        hasNvSwitch: known(true),
        fabric: failed,
      },
    }, { has: switched }),
    [
      "its memory cannot be read: the call failed",
      "which recovery the driver asks for cannot be read: the call failed",
      "whether a change of ECC is pending cannot be read: the call failed",
      "whether a change of MIG is pending cannot be read: the call failed",
      "whether rows of its memory wait to be remapped cannot be read: the call failed",
      "its clock cannot be read: the call failed",
      "whether it has joined its NVLink fabric cannot be read: the call failed",
    ],
  );
  assert.deepEqual(faultsOf({ processList: { state: "unknown", reason: failed } }), [
    "its process list cannot be read: the call failed",
  ]);
});

test("judgeResetResult() asks an old driver for nothing that it never had", () => {
  const old = { recoveryAction: absent("not-supported"), has: { ecc: absent("not-supported") } };
  assert.deepEqual(faultsOf(old, old), []);
  assert.deepEqual(faultsOf(old, {}).length, 2);
});

test("judgeResetResult() takes a fabric that refused the GPU for a fault", () => {
  const fabric = known({ state: "completed" as const, status: 23 });
  assert.deepEqual(faultsOf({ has: { hasNvSwitch: known(true), fabric } }), [
    "it could not join its NVLink fabric: status 23",
  ]);
});

test("judgeResetResults() calls no GPU back when the driver does not answer", () => {
  const report = resetInput({ machine: { gpus: [{}, {}], processes: [] } }).observation.report;
  const gpus = resetInput({ machine: { gpus: [{}, {}], processes: [] }, chosen: [0, 1] }).gpus;
  assert.deepEqual(judgeResetResults(gpus, report).map(({ isBack }) => isBack), [true, true]);
  assert.deepEqual(
    judgeResetResults(gpus, absent("timed-out")).map(({ isBack, faults }) => [isBack, faults]),
    [
      [false, ["it cannot be read again: no answer in time"]],
      [false, ["it cannot be read again: no answer in time"]],
    ],
  );
});
