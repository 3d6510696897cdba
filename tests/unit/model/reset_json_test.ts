import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { absent } from "../../../lib/core/reading.ts";
import { type GpuResetNeed, type Reset, RESET_ADVICE } from "../../../lib/model/reset.ts";
import { encodeReset } from "../../../lib/model/reset_json.ts";
import { RESET_SCHEMA } from "../../../lib/model/schema/reset.ts";
import { uuidOf } from "../../support/machine.ts";
import { RESETS } from "../../support/resets.ts";

test("encodeReset() gives what scripts read, whole", () => {
  const { steps, ...done } = encodeReset(RESETS.done);
  assert.deepEqual(done, {
    schema: "gpuctl.reset/1",
    takenAt: "2026-11-30T12:00:00.000Z",
    simulated: false,
    warranted: true,
    outcome: "done",
    gpus: [{
      index: 0,
      uuid: uuidOf(0),
      name: "NVIDIA H200",
      warranted: true,
      advice: "reset",
      reasons: [...RESETS.done.needs[0]?.reasons ?? []],
      processes: [],
      back: true,
      memoryUsedBeforeBytes: 40 * 1024 ** 3,
      memoryUsedAfterBytes: 0,
      faults: [],
    }],
    blockers: [
      {
        gpu: uuidOf(0),
        kind: "persistence-mode",
        who: "persistence mode",
        pid: null,
        unit: null,
        why: "keeps the GPU in use with no process on it",
        remedy: "none needed: switched off before and on again after",
        clearedBy: "plan",
      },
      {
        gpu: uuidOf(0),
        kind: "settings",
        who: "settings",
        pid: null,
        unit: null,
        why:
          "power limit, locked and application clocks, compute mode and accounting records are lost by a reset",
        remedy: "note them first: nvidia-smi -q; set them again afterwards",
        clearedBy: "warning",
      },
    ],
    problems: [],
  });
  assert.deepEqual(steps.map(({ kind, gpu, state, tookMs }) => [kind, gpu, state, tookMs]), [
    ["close-helper", null, "done", 1200],
    ["persistence-off", uuidOf(0), "done", 1200],
    ["reset", uuidOf(0), "done", 1200],
    ["persistence-on", uuidOf(0), "done", 1200],
    ["read-again", null, "done", 1200],
  ]);
});

test("encodeReset() gives every reset as its schema says", () => {
  for (const reset of Object.values<Reset>(RESETS)) {
    const written = encodeReset(reset);
    assert.deepEqual(v.parse(RESET_SCHEMA, JSON.parse(JSON.stringify(written))), written);
  }
});

test("encodeReset() says that a reset is warranted, is not, or that this is not known", () => {
  const [need] = RESETS.ready.needs;
  assert.ok(need);
  const of = (...advice: GpuResetNeed["advice"][]) =>
    encodeReset({ ...RESETS.ready, needs: advice.map((each) => ({ ...need, advice: each })) }).warranted;
  assert.deepEqual(RESET_ADVICE.map((advice) => [advice, of(advice)]), [
    ["reboot", false],
    ["drain", true],
    ["reset", true],
    ["end-processes", false],
    ["none", false],
    ["unknown", null],
  ]);
  assert.deepEqual([of("none", "unknown", "reset"), of("none", "unknown"), of()], [true, null, null]);
});

test("encodeReset() gives the reason of what is missing, and null for what was not done", () => {
  const [need] = RESETS.ready.needs;
  const [result] = RESETS.done.results;
  assert.ok(need && result);
  const lost = absent("lost", "Xid 79");
  const { gpus, problems } = encodeReset({
    ...RESETS.done,
    needs: [{ ...need, name: lost }],
    results: [{ ...result, isBack: false, usedAfter: lost, faults: ["it is gone"] }],
  });
  assert.deepEqual(
    gpus.map(({ name, back, memoryUsedAfterBytes, faults }) => [name, back, memoryUsedAfterBytes, faults]),
    [
      [null, false, null, ["it is gone"]],
    ],
  );
  assert.deepEqual(problems.map(({ at, why, detail }) => [at, why, detail]), [
    ["/gpus/0/name", "lost", "Xid 79"],
    ["/gpus/0/memoryUsedAfterBytes", "lost", "Xid 79"],
  ]);
  const [planned] = encodeReset(RESETS.ready).gpus;
  assert.deepEqual([planned?.back, planned?.memoryUsedBeforeBytes, planned?.faults], [null, null, []]);
});
