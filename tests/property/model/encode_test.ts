import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeSnapshot, parseSnapshot } from "../../../lib/model/decode.ts";
import { encodeSnapshot } from "../../../lib/model/encode.ts";
import { anySnapshot } from "../../support/snapshots.ts";

test("decodeSnapshot() gives back what encodeSnapshot() wrote: no value and no reason is lost", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    assert.deepEqual(decodeSnapshot(encodeSnapshot(snapshot)), snapshot);
  }));
});

test("parseSnapshot() reads the JSON text back to the same snapshot", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    assert.deepEqual(parseSnapshot(JSON.stringify(encodeSnapshot(snapshot))), snapshot);
  }));
});

test("encodeSnapshot() gives every null of a reading a reason that points at it", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const json: unknown = encodeSnapshot(snapshot);
    const { problems } = encodeSnapshot(snapshot);
    for (const { at } of problems) {
      if (at === null) continue;
      const value = at.split("/").slice(1).reduce<unknown>(childOf, json);
      assert.ok(value === null || (at.endsWith("/contexts") && Array.isArray(value)), at);
    }
    const pointers = problems.flatMap(({ at }) => at === null ? [] : [at]);
    assert.equal(new Set(pointers).size, pointers.length);
  }));
});

test("parseSnapshot() ends on any text and any JSON: with a snapshot or with a SyntaxError", () => {
  const valid = anySnapshot.map((snapshot) => JSON.stringify(encodeSnapshot(snapshot)));
  const damaged = fc.tuple(valid, fc.nat(), fc.string({ maxLength: 3 }))
    .map(([text, at, put]) =>
      text.slice(0, at % text.length) + put + text.slice(at % text.length + put.length)
    );
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json(), damaged), (text) => {
    try {
      parseSnapshot(text);
    } catch (error) {
      assert.ok(error instanceof SyntaxError);
      assert.match(error.message, /^Cannot (?:parse|decode) snapshot: [^\p{Cc}]+$/u);
    }
  }));
});

test("decodeSnapshot() ends with any value anywhere: with a snapshot or with a SyntaxError", () => {
  fc.assert(fc.property(anySnapshot, fc.jsonValue(), fc.nat(), (snapshot, value, turn) => {
    const json = encodeSnapshot(snapshot);
    let count = 0;
    JSON.stringify(json, (_, old) => (count++, old));
    let place = 0;
    const text = JSON.stringify(json, (_, old) => place++ === turn % count ? value : old);
    try {
      parseSnapshot(text);
    } catch (error) {
      assert.ok(error instanceof SyntaxError, String(error));
      assert.match(error.message, /^Cannot decode snapshot: [^\p{Cc}]+$/u);
    }
  }));
});

function childOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
