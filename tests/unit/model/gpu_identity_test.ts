import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceMinor, gpuIndex, gpuUuid, parseBusId } from "../../../lib/core/ids.ts";
import type { DriverReport, Gpu } from "../../../lib/model/gpu.ts";
import { findSameGpu, isDriverUuid, standInMigUuid, standInUuid } from "../../../lib/model/gpu_identity.ts";
import { parseSmiText } from "../../../lib/source/smi/parse.ts";
import { readSmiFixture } from "../../support/smi_fixtures.ts";

function gpusOf(text: string): DriverReport["gpus"] {
  const { report } = parseSmiText(text);
  return report.ok ? report.value.gpus : [];
}

function samesOf(before: readonly Gpu[], after: readonly Gpu[]): (number | undefined)[] {
  return before.map((gpu) => findSameGpu(gpu, after)?.index);
}

test("standInUuid() takes the best key that is known", () => {
  const busId = parseBusId("3B:00.0");
  assert.deepEqual([
    standInUuid({ busId, index: gpuIndex(1) }),
    standInUuid({ index: gpuIndex(1), minor: deviceMinor(3) }),
    standInUuid({ minor: deviceMinor(3) }),
    standInUuid({}),
  ], [
    "bus:00000000:3b:00.0",
    "index:1",
    "minor:3",
    "unnamed",
  ]);
});

test("standInMigUuid() shows an instance that is not known", () => {
  assert.equal(standInMigUuid(gpuUuid("index:1"), [2, undefined]), "mig:index:1/2/?");
});

test("isDriverUuid() tells the driver's ids from stand-ins", () => {
  assert.deepEqual(
    ["GPU-1", "MIG-1", "bus:00000000:3b:00.0", "index:1", "unnamed"].map(gpuUuid).map(isDriverUuid),
    [
      true,
      true,
      false,
      false,
      false,
    ],
  );
});

test("findSameGpu() compares by UUID where both have one, then by address, then by index", () => {
  const xml = gpusOf(readSmiFixture("ghost.xml"));
  const table = gpusOf(readSmiFixture("ghost_table_apps_pmon.txt"));
  const list = gpusOf("index, memory.used [MiB]\n1, 5 MiB\n0, 6 MiB");
  const others = gpusOf("index, uuid\n0, GPU-0000000a-0000-0000-0000-000000000000");
  assert.deepEqual(
    [samesOf(xml, xml), samesOf(xml, table), samesOf(table, list), samesOf(list, xml), samesOf(others, xml)],
    [[0, 1], [0, 1], [0, 1], [0, 1], [undefined]],
  );
});

test("findSameGpu() compares rows that name no GPU with their like only", () => {
  const before = gpusOf(readSmiFixture("apps_before_move.csv"));
  const after = gpusOf(readSmiFixture("apps_after_move.csv"));
  const table = gpusOf(readSmiFixture("idle_table.txt"));
  assert.deepEqual([samesOf(before, after), samesOf(before, table)], [[0], [undefined]]);
});
