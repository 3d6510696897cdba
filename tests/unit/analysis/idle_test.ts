import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CLASSES, planEnding } from "../../../lib/analysis/ending.ts";
import {
  type IdleRecord,
  idleSpans,
  parseIdleRecords,
  updateIdleRecords,
} from "../../../lib/analysis/idle.ts";
import { pid } from "../../../lib/core/ids.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import type { HolderClass } from "../../../lib/model/snapshot.ts";
import { type MachineSpec, timedLook } from "../../support/machine.ts";

const HOUR = 360_000;

function machine(
  ticks: number,
  changes: { readonly cpuTicks?: number; readonly mib?: number; readonly busyGpu?: boolean } = {},
): MachineSpec {
  const { busyGpu = false, ...process } = changes;
  return {
    ticks,
    gpus: [{ utilization: busyGpu ? 100 : 0 }],
    processes: [{ pid: 50, touch: "context", ignoresHangup: true, ...process }],
  };
}

function follow(...specs: readonly MachineSpec[]): IdleRecord[] {
  return specs.reduce<IdleRecord[]>(
    (records, spec) => updateIdleRecords(records, timedLook(spec), "boot"),
    [],
  );
}

function spanAfter(...specs: readonly MachineSpec[]): number | undefined {
  return idleSpans(follow(...specs)).get(pid(50));
}

test("updateIdleRecords() counts from the first look while nothing is used", () => {
  assert.equal(spanAfter(machine(HOUR), machine(2 * HOUR), machine(3 * HOUR)), 2 * 3_600_000);
});

test("updateIdleRecords() begins anew when CPU time was used, memory changed or the GPU was busy", () => {
  assert.equal(spanAfter(machine(HOUR), machine(2 * HOUR, { cpuTicks: 5000 })), 0);
  assert.equal(spanAfter(machine(HOUR), machine(2 * HOUR, { mib: 600 })), 0);
  assert.equal(spanAfter(machine(HOUR), machine(2 * HOUR, { busyGpu: true })), 0);
});

test("updateIdleRecords() does not take another process under the same pid for the one before", () => {
  const later: MachineSpec = {
    ...machine(2 * HOUR),
    processes: [{ pid: 50, touch: "context", startTicks: 9999 }],
  };

  assert.equal(spanAfter(machine(HOUR), later), 0);
});

test("updateIdleRecords() begins anew after a reboot", () => {
  const records = updateIdleRecords(follow(machine(HOUR)), timedLook(machine(2 * HOUR)), "another boot");

  assert.equal(idleSpans(records).get(pid(50)), 0);
});

test("parseIdleRecords() reads back what was written and refuses anything else", () => {
  const records = follow(machine(HOUR));

  assert.deepEqual(parseIdleRecords(JSON.stringify(records)), records);
  for (const text of ["", "{}", '[{"pid":1}]', "[null]"]) {
    assert.throws(() => parseIdleRecords(text), SyntaxError);
  }
});

test("planEnding() ends a detached holder that was idle for long enough, when both were asked for", () => {
  const spans = idleSpans(follow(machine(HOUR), machine(2 * HOUR)));
  const policy = (hours: number) => ({
    classes: new Set<HolderClass>([...DEFAULT_CLASSES, "detached"]),
    minAge: milliseconds(30_000),
    minBytes: bytes(0),
    protect: [],
    idle: { for: milliseconds(hours * 3_600_000), spans },
  });
  const look = timedLook(machine(2 * HOUR));

  assert.deepEqual(planEnding(look, look, policy(1)).acts.map(({ identity }) => identity.pid), [50]);
  assert.equal(planEnding(look, look, policy(2)).kept[0]?.why, "has been idle for 3600 s as far as is known");
});
