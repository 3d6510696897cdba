import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { gpuUuid } from "../../../lib/core/ids.ts";
import { explainVisibleDevices } from "../../../lib/analysis/explain_visible_devices.ts";
import { parseNvidiaVisibleDevices } from "../../../lib/analysis/nvidia_visible_devices.ts";
import {
  parseVisibleDevices,
  type VisibleGpu,
  type VisibleMachine,
} from "../../../lib/analysis/visible_devices.ts";
import { gpu, migGpu } from "../../unit/analysis/visible_devices_machine.ts";

const uuid = (prefix: string) => fc.uuid().map((text) => gpuUuid(`${prefix}${text}`));

const gpus: fc.Arbitrary<readonly VisibleGpu[]> = fc.uniqueArray(
  fc.record({
    uuid: uuid("GPU-"),
    name: fc.constantFrom("A", "B"),
    migs: fc.array(uuid("MIG-"), { maxLength: 2 }),
  }),
  { maxLength: 5, selector: (spec) => spec.uuid },
).map((specs) =>
  specs.map(({ uuid, name, migs }, index) =>
    migs.length > 0 ? migGpu(index, uuid, migs) : gpu(index, uuid, name)
  )
);

const machines: fc.Arbitrary<VisibleMachine> = fc.record({
  gpus,
  unreadableGpus: fc.constant([]),
  deviceOrder: fc.constantFrom(undefined, "PCI_BUS_ID", "FASTEST_FIRST", "x"),
});

/** Values that look like lists, made of pieces that matter, of UUIDs that exist, and of anything at all. */
function valuesFor({ gpus }: VisibleMachine): fc.Arbitrary<string> {
  const uuids = gpus.flatMap(({ uuid, migInstances }) => [
    uuid,
    ...(migInstances.ok ? migInstances.value.map((mig) => mig.uuid) : []),
  ]);
  const entry = fc.oneof(
    fc.nat({ max: 6 }).map(String),
    fc.constantFrom("", " ", "-1", "NoDevFiles", "GPU-", "MIG-", "0x1", "+1", "\u00e9"),
    fc.string({ unit: "binary", maxLength: 8 }),
    ...(uuids.length > 0
      ? [
        fc.tuple(fc.constantFrom(...uuids), fc.nat({ max: 40 })).map(([text, length]) =>
          text.slice(0, length)
        ),
      ]
      : []),
  );
  return fc.array(entry, { maxLength: 6 }).map((entries) => entries.join(","));
}

const cases = machines.chain((machine) => fc.tuple(fc.constant(machine), valuesFor(machine)));

test("parseVisibleDevices() gives no device twice, and only those of the machine", () => {
  fc.assert(fc.property(cases, ([machine, value]) => {
    const { devices } = parseVisibleDevices(value, machine);
    const keys = devices.map(({ gpu, mig }) => mig ?? gpu);
    assert.equal(new Set(keys).size, keys.length);
    const known = new Set(machine.gpus.map(({ uuid }) => uuid));
    assert.ok(devices.every(({ gpu }) => known.has(gpu)));
  }));
});

test("parseVisibleDevices() gives the devices of its entries in their order, and all of them unless it fails", () => {
  fc.assert(fc.property(cases, ([machine, value]) => {
    const { devices, entries, isError, end } = parseVisibleDevices(value, machine);
    const named = entries.flatMap(({ device }) => device ?? []);
    if (end === "too-long" || isError) return;
    assert.deepEqual(devices, named);
    assert.equal(entries.slice(0, -1).every(({ device }) => device !== undefined), true);
    assert.equal(entries.at(-1)?.device === undefined, end !== "complete");
  }));
});

test("parseVisibleDevices() reads a prefix of the value: its entries are the first ones between commas", () => {
  fc.assert(fc.property(cases, ([machine, value]) => {
    const texts = parseVisibleDevices(value, machine).entries.map(({ entry }) => entry.text);
    assert.deepEqual(texts, value.split(",").slice(0, texts.length));
  }));
});

test("parseVisibleDevices() does not look behind the entry that ended the list", () => {
  fc.assert(fc.property(cases, fc.string(), ([machine, value], more) => {
    const before = parseVisibleDevices(value, machine);
    if (before.end === "complete" || before.entries.length === 0) return;
    assert.deepEqual(parseVisibleDevices(`${value},${more}`, machine), before);
  }));
});

test("parseVisibleDevices() and its explanation answer for any text, also a very long one, in a moment", () => {
  fc.assert(
    fc.property(
      machines,
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.nat({ max: 200_000 }),
      (machine, piece, times) => {
        const value = piece.repeat(Math.floor(times / (piece.length + 1)));
        const begin = performance.now();
        const visible = parseVisibleDevices(value, machine);
        assert.ok(explainVisibleDevices(visible, machine).every((line) => line.length > 0));
        parseNvidiaVisibleDevices(value, machine);
        assert.ok(performance.now() - begin < 500);
      },
    ),
    { numRuns: 60 },
  );
});
