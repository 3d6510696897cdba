import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseVisibleDevices, type VisibleGpu } from "../../../lib/analysis/visible_devices.ts";
import { gpuUuid } from "../../../lib/core/ids.ts";
import { type Candidate, findVisibleDevices, type VisibleDevice } from "../../../lib/source/sim/visible.ts";
import { gpu, machine, migGpu } from "../../unit/analysis/visible_devices_machine.ts";

/** UUIDs of few digits at their beginning, so that several begin alike. */
const digits = fc.tuple(fc.string({ unit: fc.constantFrom("a", "b"), minLength: 2, maxLength: 2 }), fc.uuid())
  .map(([beginning, uuid]) => `${beginning}${uuid.slice(2)}`);
const uuids = (prefix: string, maxLength: number) =>
  fc.uniqueArray(digits.map((text) => gpuUuid(`${prefix}${text}`)), { maxLength });

const machines: fc.Arbitrary<readonly VisibleGpu[]> = fc.uniqueArray(
  fc.tuple(digits, fc.boolean(), uuids("MIG-", 3)),
  { maxLength: 8, selector: ([uuid]) => uuid },
).map((specs) =>
  specs.map(([text, hasMig, migs], index) =>
    hasMig && migs.length > 0
      ? migGpu(index, gpuUuid(`GPU-${text}`), migs)
      : gpu(index, gpuUuid(`GPU-${text}`))
  )
);

/** Lists of numbers, of whole and half UUIDs and MIG paths, well formed and not, and of anything at all. */
function valuesFor(gpus: readonly VisibleGpu[]): fc.Arbitrary<string> {
  const names = gpus.flatMap(({ uuid, migInstances }) => [
    uuid,
    `MIG-${uuid}/1/0`,
    `MIG-${uuid}/2/0`,
    ...migInstances.ok ? migInstances.value.map((mig) => mig.uuid) : [],
  ]);
  const name = names.length === 0 ? [] : [
    fc.constantFrom(...names),
    fc.tuple(fc.constantFrom(...names), fc.nat({ max: 40 })).map(([text, length]) => text.slice(0, length)),
    fc.constantFrom(...names).map((text) => text.replaceAll("-", "").replace(/^(GPU|MIG)/, "$1-")),
    fc.tuple(fc.constantFrom(...names), fc.constantFrom("x", " ", "-")).map((parts) => parts.join("")),
  ];
  const number = fc.oneof(
    fc.nat({ max: 9 }).map(String),
    fc.tuple(
      fc.constantFrom("", " ", "\t", "+", "0", "-", "\u00a0"),
      fc.nat({ max: 3 }),
      fc.constantFrom("", "x", " 1"),
    )
      .map((parts) => parts.join("")),
    fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }).map(String),
    fc.tuple(fc.constantFrom(2n ** 32n, -(2n ** 32n), 2n ** 64n), fc.bigInt({ min: -2n, max: 9n }))
      .map(([far, near]) => String(far + near)),
  );
  const odd = fc.oneof(
    fc.constantFrom("", " ", "-1", "NoDevFiles", "GPU-", "MIG-", "all", "-0"),
    fc.string({ unit: "binary", maxLength: 6 }),
  );
  const list = (...entries: fc.Arbitrary<string>[]) =>
    fc.array(fc.oneof(...entries), { minLength: 1, maxLength: 5 }).map((each) => each.join(","));
  const long = fc.tuple(fc.constantFrom("1", "é"), fc.integer({ min: 1300, max: 2640 }))
    .map(([piece, times]) => `1${piece.repeat(times)}`);
  return fc.oneof(list(number), ...name.length > 0 ? [list(...name)] : [], list(number, odd, ...name), long);
}

const cases = machines.chain((gpus) =>
  fc.tuple(fc.constant(gpus), fc.option(valuesFor(gpus), { nil: undefined }))
);

test("findVisibleDevices() shows a simulated job what parseVisibleDevices() says that CUDA shows", () => {
  fc.assert(
    fc.property(cases, ([gpus, value]) => {
      const shown = findVisibleDevices(value, gpus.map(candidateOf));
      const said = parseVisibleDevices(value, machine(gpus, { deviceOrder: "PCI_BUS_ID" }));
      assert.deepEqual(shown.map((device) => nameOf(device, gpus)), said.devices);
    }),
    { numRuns: 3000 },
  );
});

function candidateOf({ index, uuid, migInstances }: VisibleGpu): Candidate {
  const migDevices = migInstances.ok ? migInstances.value : [];
  return {
    index,
    uuid,
    migDevices: migDevices.map((mig, place) => ({
      uuid: mig.uuid,
      gpuInstance: place + 1,
      computeInstance: 0,
    })),
  };
}

/** A device by its UUIDs, as gpuctl's own rules name it. */
function nameOf({ index, mig }: VisibleDevice, gpus: readonly VisibleGpu[]) {
  const found = gpus.find((each) => each.index === index);
  assert.ok(found);
  if (mig === undefined) return { gpu: found.uuid };
  assert.ok(found.migInstances.ok);
  return { gpu: found.uuid, mig: found.migInstances.value[mig.gpuInstance - 1]?.uuid };
}
