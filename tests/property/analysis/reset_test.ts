import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findBlockers, findStanding } from "../../../lib/analysis/reset_blockers.ts";
import { judgeResetNeeds } from "../../../lib/analysis/reset_need.ts";
import { planReset } from "../../../lib/analysis/reset_plan.ts";
import { judgeResetResult } from "../../../lib/analysis/reset_result.ts";
import { judgeResetAnswer } from "../../../lib/analysis/smi_reset_answer.ts";
import { type BusId, parseBusId, type Pid, pid } from "../../../lib/core/ids.ts";
import { absent, known, type Reading } from "../../../lib/core/reading.ts";
import { bytes, milliseconds, percent } from "../../../lib/core/units.ts";
import { type Gpu, RECOVERY_ACTIONS } from "../../../lib/model/gpu.ts";
import { type GpuHealth, VIRTUALIZATION_MODES } from "../../../lib/model/gpu_health.ts";
import type { Reset } from "../../../lib/model/reset.ts";
import {
  GPU_SERVICE_KINDS,
  type KernelModule,
  type Platform,
  PLATFORMS,
  type ResetFacts,
  type XidEvent,
} from "../../../lib/model/reset_facts.ts";
import { renderReset } from "../../../lib/render/reset_text.ts";
import { GPUCTL, machines } from "../../support/machine_arbitrary.ts";
import { logOf, resetInput, type ResetScene, service, xid } from "../../support/reset_scene.ts";

const BUS_IDS: readonly BusId[] = [parseBusId("0:0:0.0"), parseBusId("0:1:0.0"), parseBusId("0:ff:0.0")];

/** Mostly what is usual, sometimes another value, sometimes none. */
function reading<T>(usual: T, ...others: T[]): fc.Arbitrary<Reading<T>> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(known(usual)) },
    { weight: 3, arbitrary: fc.constantFrom(usual, ...others).map((value) => known(value)) },
    { weight: 1, arbitrary: fc.constantFrom(absent("failed"), absent("not-supported"), absent("lost")) },
  );
}

function pending(): fc.Arbitrary<Reading<{ current: boolean; pending: boolean }>> {
  return reading({ current: false, pending: false }, { current: false, pending: true }, {
    current: true,
    pending: true,
  });
}

const REMAPPED = { correctable: 0, uncorrectable: 0, isPending: false, hasFailed: false };
const health: fc.Arbitrary<Partial<GpuHealth>> = fc.record({
  ecc: pending(),
  remappedRows: reading(REMAPPED, { ...REMAPPED, isPending: true }, { ...REMAPPED, hasFailed: true }),
  nvlinkPeers: fc.subarray([...BUS_IDS], { maxLength: 1 }).map((peers) => known(peers)),
  hasNvSwitch: reading(false, true),
  virtualization: reading("none", ...VIRTUALIZATION_MODES),
  architecture: reading("Hopper", "Volta", "Ampere", "Turing"),
  hasRetirementPending: reading(false, true),
});

const gpu: fc.Arbitrary<Partial<Gpu> & { has: Partial<GpuHealth> }> = fc.record({
  recoveryAction: reading("none", ...RECOVERY_ACTIONS),
  persistenceMode: reading(true, false),
  displayActive: reading(false, true),
  migMode: pending(),
  utilization: reading(percent(0), percent(100)),
  memoryUsed: reading(bytes(0), bytes(4 * 1024 ** 3)),
  has: health,
});

const events: fc.Arbitrary<XidEvent> = fc.tuple(
  fc.nat(180),
  fc.nat(1e9),
  fc.constantFrom("", "x", "to (None)"),
)
  .map(([number, at, text]) => xid(number, at, text, 2));

const services = fc.array(
  fc.tuple(
    fc.constantFrom("a.service", "b.service"),
    fc.constantFrom(...GPU_SERVICE_KINDS),
    fc.constantFrom(2, 3, 4, 5),
  )
    .map(([unit, kind, main]) => service(unit, kind, main)),
  { maxLength: 3 },
);

const facts: fc.Arbitrary<Partial<ResetFacts>> = fc.oneof(
  fc.constant({}),
  fc.record({
    kernelLog: fc.oneof(
      fc.array(events, { maxLength: 4 }).map((all) => logOf(...all)),
      fc.constant(absent("failed")),
    ),
    platform: reading<Platform>("bare-metal", ...PLATFORMS),
    isContainer: reading(false, true),
    services: services.map((all) => known(all)),
    drmModeset: reading(false, true),
    modules: reading<readonly KernelModule[]>([], [{ name: "nvidia_drm", references: 2, usedBy: [] }]),
    consoleGpus: fc.subarray([...BUS_IDS], { maxLength: 1 }).map((ids) => known(new Set(ids))),
  }),
);

const machineOrNone = fc.oneof(
  machines,
  machines.map((machine) => ({
    ...machine,
    processes: [],
    dead: [],
    reader: { isRoot: true, isInitial: true },
  })),
);

const scenes: fc.Arbitrary<ResetScene> = fc.record({
  machine: machineOrNone,
  gpus: fc.record({ 0: gpu, 1: gpu }),
  facts,
  chosen: fc.constantFrom([0], [1], [0, 1]),
  flags: fc.record({
    evict: fc.boolean(),
    stopServices: fc.boolean(),
    isRoot: fc.constantFrom(true, true, true, false),
    named: fc.subarray([2, 3, 4, 5]).map((pids): ReadonlySet<Pid> => new Set(pids.map(pid))),
  }),
});

function planOf(scene: ResetScene) {
  const input = resetInput(scene);
  const needs = judgeResetNeeds(input);
  const blockers = findBlockers(input, needs);
  return { input, needs, blockers, steps: planReset(input, blockers) };
}

test("findBlockers() never drops a process that has a chosen GPU open", () => {
  fc.assert(fc.property(scenes, (scene) => {
    const { input, blockers } = planOf(scene);
    const { scan } = input.observation;
    if (!scan.ok) return;
    for (const gpu of input.gpus) {
      for (const [user, uses] of [...scan.value.uses]) {
        const hasIt = uses.some(({ node }) =>
          node.kind === "gpu" && gpu.minor.ok && node.minor === gpu.minor.value
        );
        if (!hasIt || user === GPUCTL) continue;
        const isNamed = blockers.some((each) => each.pid === user && each.gpu === gpu.uuid);
        assert.ok(isNamed, `PID ${user} on GPU ${gpu.index}`);
      }
    }
  }));
});

test("planReset() holds no step while something stands in the way, and never resets without", () => {
  let planned = 0;
  fc.assert(
    fc.property(scenes, (scene) => {
      const { input, blockers, steps } = planOf(scene);
      const standing = findStanding(blockers, input.flags);
      assert.equal(steps.length > 0, standing.length === 0);
      assert.equal(blockers.some(({ clearedBy }) => clearedBy === "nobody") && steps.length > 0, false);
      const reset = steps.filter(({ kind }) => kind === "reset").flatMap(({ command }) =>
        command?.[2]?.split(",") ?? []
      );
      const chosen = steps.length === 0
        ? []
        : input.gpus.map(({ busId }) => busId.ok ? busId.value.toUpperCase() : "");
      assert.deepEqual(reset.toSorted(), chosen.toSorted());
      if (steps.length > 0) planned++;
    }),
    { numRuns: 400 },
  );
  // A law that no run touches proves nothing.
  assert.ok(planned > 20, `${planned} plans`);
});

test("planReset() undoes after the reset whatever it changed before, once, in the reverse order", () => {
  const undoOf = { "stop-service": "start-service", "persistence-off": "persistence-on" } as const;
  fc.assert(
    fc.property(scenes, (scene) => {
      const { steps } = planOf(scene);
      const last = steps.findLastIndex(({ kind }) => kind === "reset");
      for (const [kind, undo] of Object.entries(undoOf)) {
        const key = ({ gpu, unit }: (typeof steps)[number]) => gpu ?? unit;
        const changed = steps.filter((step) => step.kind === kind);
        const undone = steps.filter((step) => step.kind === undo);
        assert.deepEqual(new Set(undone.map(key)), new Set(changed.map(key)));
        assert.equal(undone.length, changed.length);
        assert.ok(undone.every((step) => step.isUndo && steps.indexOf(step) > last));
        assert.ok(changed.every((step) => !step.isUndo && steps.indexOf(step) < last));
      }
      const units = (kind: string) => steps.filter((step) => step.kind === kind).map(({ unit }) => unit);
      assert.deepEqual(units("start-service"), units("stop-service").toReversed());
    }),
    { numRuns: 400 },
  );
});

test("planReset() never calls nvidia-smi without the GPUs that it means", () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      for (const { command } of planOf(scene).steps) {
        if (command?.[0] !== "nvidia-smi") continue;
        assert.equal(command[1], "-i");
        assert.match(command[2] ?? "", /^[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7](?:,[0-9A-F:.]+)*$/);
      }
    }),
    { numRuns: 400 },
  );
});

test("judgeResetNeeds() finds nothing wrong only where action, list and memory were read", () => {
  let fine = 0;
  fc.assert(
    fc.property(scenes, (scene) => {
      const { input, needs } = planOf(scene);
      for (const [place, { advice, reasons, processes }] of needs.entries()) {
        assert.ok(reasons.length > 0);
        assert.equal(processes.length > 0, advice === "end-processes");
        if (advice !== "none") continue;
        const gpu = input.gpus[place] ?? assert.fail();
        assert.deepEqual([gpu.recoveryAction.ok, gpu.processList.state, gpu.memoryUsed.ok], [
          true,
          "known",
          true,
        ]);
        fine++;
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(fine > 20, `${fine} GPUs`);
});

test("judgeResetResult() calls no GPU back whose list or memory was not read", () => {
  fc.assert(fc.property(scenes, scenes, (was, is) => {
    const [before] = resetInput(was).gpus;
    const [after] = resetInput(is).gpus;
    if (before === undefined || after === undefined) return;
    const { isBack, faults } = judgeResetResult(before, after);
    assert.equal(isBack, faults.length === 0);
    if (isBack) assert.deepEqual([after.processList.state, after.memoryUsed.ok], ["known", true]);
    if (isBack && after.recoveryAction.ok) assert.equal(after.recoveryAction.value, "none");
  }));
});

test("judgeResetAnswer() says done only for status 0 and one line a GPU, whatever stands around it", () => {
  const lines = fc.constantFrom(
    "GPU 00000000:00:00.0 was successfully reset.",
    "GPU 00000000:01:00.0 was successfully reset.",
    "All done.",
    "GPU 00000000:00:00.0 is currently in use by another process.",
    "\x1b[2J",
  );
  const texts = fc.oneof(fc.array(lines).map((all) => all.join("\n")), fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(
      texts,
      fc.constantFrom(0, 0, 0, 3, 255),
      fc.subarray([...BUS_IDS.slice(0, 2)]),
      (text, status, ids) => {
        const answer = judgeResetAnswer({ kind: "ended", status, signal: undefined, text }, ids);
        const isTold = ids.length > 0 &&
          ids.every((id) => text.split("\n").includes(`GPU ${id} was successfully reset.`));
        if (answer.kind === "done") assert.deepEqual([status, isTold], [0, true]);
        // deno-lint-ignore no-control-regex -- what must not be there
        else assert.doesNotMatch(answer.text, /[\x00-\x09\x0b-\x1f\x7f]/);
      },
    ),
  );
});

test("renderReset() ends every report in a sentence, on any machine", () => {
  const outcomes = fc.constantFrom<Reset["outcome"][]>(
    "plan",
    "blocked",
    "failed",
    "not-back",
    "interrupted",
  );
  fc.assert(fc.property(scenes, outcomes, fc.constantFrom(undefined, 60, 200), (scene, outcome, columns) => {
    const { needs, blockers, steps, input } = planOf(scene);
    const took = milliseconds(5);
    const reset: Reset = {
      takenAt: input.observation.takenAt,
      simulated: false,
      needs,
      blockers,
      steps: steps.map((step) => ({ ...step, state: "failed", took })),
      results: input.gpus.map((gpu) => judgeResetResult(gpu, undefined)),
      outcome,
      problems: [],
    };
    const text = renderReset(reset, columns === undefined ? undefined : { columns, hasColour: false });
    assert.match(text, /[.]\n$/);
  }));
});
