import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { isPid, parseBusId, pid } from "../../../lib/core/ids.ts";

test("parseBusId() gives every address one spelling that it reads back unchanged", () => {
  const part = (digits: number) => fc.integer({ min: 0, max: 16 ** digits - 1 });
  fc.assert(
    fc.property(part(8), part(2), part(2), fc.integer({ min: 0, max: 7 }), (domain, bus, device, fn) => {
      const [d, b, s] = [domain, bus, device].map((number) => number.toString(16));
      const address = parseBusId(`${d}:${b}:${s}.${fn}`);
      assert.match(address, /^[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/);
      assert.deepEqual(address.split(/[:.]/).map((hex) => parseInt(hex, 16)), [domain, bus, device, fn]);
      assert.equal(parseBusId(address), address);
      assert.equal(parseBusId(address.toUpperCase()), address);
    }),
  );
});

test("isPid() says yes to exactly what pid() takes", () => {
  fc.assert(fc.property(fc.oneof(fc.integer(), fc.double(), fc.integer({ min: 0, max: 5e6 })), (value) => {
    if (isPid(value)) assert.equal(pid(value), value);
    else assert.throws(() => pid(value), RangeError);
  }));
});
