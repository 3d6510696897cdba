import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  ALLOCATION_KINDS,
  type AllocationName,
  findAllocationName,
  formatAllocationName,
} from "../../../../lib/source/sim/allocation.ts";

test("formatAllocationName() names the creator, its namespace and the MIG device", () => {
  const name = { pid: 812, pidNamespace: 4026531836, serial: 3, kind: "alloc" } as const;
  assert.equal(formatAllocationName(name), "812@4026531836.3.alloc");
  assert.equal(
    formatAllocationName({ ...name, kind: "import", mig: { gpuInstance: 1, computeInstance: 0 } }),
    "812@4026531836.3.gi1ci0.import",
  );
});

test("findAllocationName() reads every name back as it was", () => {
  const place = fc.record({ gpuInstance: fc.nat(999), computeInstance: fc.nat(999) }, {
    noNullPrototype: true,
  });
  const name: fc.Arbitrary<AllocationName> = fc.record({
    pid: fc.integer({ min: 1, max: 4_194_304 }),
    pidNamespace: fc.nat(0xffff_ffff),
    serial: fc.nat(999_999),
    kind: fc.constantFrom(...ALLOCATION_KINDS),
    mig: place,
  }, { requiredKeys: ["pid", "pidNamespace", "serial", "kind"], noNullPrototype: true });
  fc.assert(
    fc.property(name, (each) => assert.deepEqual(findAllocationName(formatAllocationName(each)), each)),
  );
});

test("findAllocationName() finds nothing in the name of a file that is no memory", () => {
  const others = ["812@4026531836.3.alloc.new", "812.3.alloc", ".alloc", "x12@1.3.alloc", "812@1.3.free", ""];
  assert.deepEqual(others.map(findAllocationName), others.map(() => undefined));
});
