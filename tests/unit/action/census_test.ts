import assert from "node:assert/strict";
import { test } from "node:test";
import { Census } from "../../../lib/action/census.ts";
import { pid } from "../../../lib/core/ids.ts";
import { type MachineSpec, observe, reportOf } from "../../support/machine.ts";

/** A census that reads its processes from a machine which each look may replace. */
function follow() {
  let machine: MachineSpec = { processes: [] };
  const census = new Census(undefined, {
    readProcess(id) {
      const { scan } = observe(machine);
      return Promise.resolve(scan.ok ? scan.value.processes.get(id) : undefined);
    },
  });
  const look = async (listed: MachineSpec, read = listed) => {
    machine = read;
    await census.meet(reportOf(listed));
  };
  return { census, look };
}

const NOBODY: MachineSpec = { processes: [] };
const with100 = (startTicks: number): MachineSpec => ({
  processes: [{ pid: 100, touch: "context", startTicks }],
});

test("Census knows a process after its end, and not one that comes back under its pid and is gone before it is read", async () => {
  const { census, look } = follow();
  await look(with100(1));
  await look(NOBODY);
  assert.equal(census.isReused(pid(100)), false);
  assert.equal(census.find(pid(100))?.startTicks, 1);

  await look(with100(2), NOBODY);
  assert.equal(census.isReused(pid(100)), true);
});

test("Census tells that a pid was used twice, and not that a context merely came back", async () => {
  const { census, look } = follow();
  for (const machine of [with100(1), NOBODY, with100(1)]) await look(machine);
  assert.equal(census.isReused(pid(100)), false);
  for (const machine of [NOBODY, with100(2)]) await look(machine);
  assert.equal(census.isReused(pid(100)), true);
});
