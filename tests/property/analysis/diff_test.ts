import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { SettleWatch } from "../../../lib/analysis/diff_settle.ts";
import { diffSnapshots } from "../../../lib/analysis/diff_snapshots.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import { known } from "../../../lib/core/reading.ts";
import { MIB, tell, TOLERANCE } from "../../support/job_story.ts";
import { type MachineSpec, observe, type ProcessSpec, reportOf } from "../../support/machine.ts";

const GPUS = 2;
const listState = fc.constantFrom("known", "incomplete", "no-permission" as const);
const others = processes(300);
const job = processes(900);

/** Up to four processes with a context each, on one GPU or both. */
function processes(first: number): fc.Arbitrary<ProcessSpec[]> {
  const one = fc.record({
    place: fc.integer({ min: 0, max: 9 }),
    mib: fc.integer({ min: 2, max: 15_000 }),
    on: fc.constantFrom([0], [1], [0, 1]),
  });
  return fc.uniqueArray(one, { selector: ({ place }) => place, maxLength: 4 })
    .map((list) =>
      list.map(({ place, mib, on }): ProcessSpec => ({ pid: first + place, touch: "context", mib, on }))
    );
}

function machine(
  list: readonly ProcessSpec[],
  { unlistedMib = 0, state = "known" }: {
    readonly unlistedMib?: number;
    readonly state?: "known" | "incomplete" | "no-permission";
  } = {},
): MachineSpec {
  const gpus = Array.from({ length: GPUS }, (_, index) => {
    const listed = list.filter(({ on = [0] }) => on.includes(index)).reduce(
      (sum, { mib = 0 }) => sum + mib,
      0,
    );
    return { usedMib: listed + unlistedMib, list: state };
  });
  return { processes: list, gpus };
}

const named = (spec: MachineSpec) => ({ name: "a file", snapshot: attribute(observe(spec)) });

test("diffSnapshots(a, a) is unchanged, whatever a holds", () => {
  fc.assert(fc.property(others, fc.integer({ min: 0, max: 9000 }), (list, unlistedMib) => {
    const one = named(machine(list, { unlistedMib }));
    const diff = diffSnapshots(one, one, TOLERANCE);

    assert.equal(diff.verdict, "unchanged");
    assert.deepEqual(diff.changes, []);
  }));
});

test("diffSnapshots(a, b): the changes applied to a's contexts give b's", () => {
  fc.assert(fc.property(others, others, (was, is) => {
    const diff = diffSnapshots(named(machine(was)), named(machine(is)), bytes(0));
    const contexts = (list: readonly ProcessSpec[]) =>
      new Map(list.flatMap(({ pid, mib = 0, on = [] }) => on.map((index) => [`${index}/${pid}`, mib])));
    const applied = contexts(was);
    for (const { kind, gpu, pid, after } of diff.changes) {
      const key = `${diff.gpus.find(({ uuid }) => uuid === gpu)?.index}/${pid}`;
      if (kind === "gone") applied.delete(key);
      else applied.set(key, (after.ok ? after.value : NaN) / MIB);
    }

    assert.deepEqual(new Map([...applied].sort()), new Map([...contexts(is)].sort()));
  }));
});

test("diffJob() takes a job that gave everything back for released or unchanged, whatever its neighbours did", () => {
  fc.assert(fc.property(others, others, job, (before, after, jobs) => {
    const diff = tell({
      before: machine(before),
      // The neighbours change well before the job ends, so that none of them can be taken for an importer.
      run: [[100, machine([...before, ...jobs])], [5000, machine([...after, ...jobs])]],
      settle: [[10_020, machine(after)]],
      after: machine(after),
      job: jobs.map(({ pid }) => pid),
      ranForMs: 10_000,
    });

    for (const gpu of diff.gpus) {
      assert.ok(["released", "unchanged", "changed-by-others"].includes(gpu.verdict.kind), gpu.verdict.kind);
      assert.deepEqual(gpu.left, known(0));
    }
    assert.deepEqual(diff.leftovers, []);
  }));
});

test("diffJob() never misses a context of the job, and never counts a neighbour's as left", () => {
  fc.assert(fc.property(others, job, listState, (neighbours, jobs, state) => {
    const diff = tell({
      before: machine([], { state }),
      run: [[100, machine(jobs, { state })]],
      after: machine([...neighbours, ...jobs], { state }),
      job: jobs.map(({ pid }) => pid),
      alive: jobs.map(({ pid }) => pid),
    });

    for (const { index, left, verdict } of diff.gpus) {
      const own = jobs.filter(({ on }) => on?.includes(index));
      if (state === "no-permission") assert.equal(verdict.kind, "unknown");
      else if (own.length > 0) {
        assert.deepEqual(verdict, {
          kind: "held",
          by: own.map(({ pid }) => pid).sort(),
        });
      }
      if (state === "known") {
        assert.deepEqual(left, known(own.reduce((sum, { mib = 0 }) => sum + mib, 0) * MIB));
      }
    }
  }));
});

test("diffJob() never claims a release where the list is unknown", () => {
  fc.assert(fc.property(fc.nat(9000), fc.nat(9000), (was, is) => {
    const unread = (unlistedMib: number) => machine([], { unlistedMib, state: "no-permission" });
    const diff = tell({ before: unread(was), run: [[100, unread(was + 10)]], after: unread(is) });

    assert.equal(diff.verdict, "unknown");
  }));
});

test("SettleWatch always comes to an end: it stalls at the latest when as much time has passed as its steps allow", () => {
  const steps = fc.array(fc.nat(9000), { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(steps, (levels) => {
    const watch = new SettleWatch({
      before: reportOf(machine([])).gpus,
      tolerance: TOLERANCE,
      isTouched: () => true,
      isJobs: () => true,
    });
    let at = 0;
    for (const level of [...levels, 9000]) {
      const report = known(reportOf(machine([], { unlistedMib: level })));
      const state = watch.add({ at: milliseconds(at), report });
      if (state !== "waiting") return;
      at += 7000;
    }
    assert.fail("still waiting");
  }));
});
