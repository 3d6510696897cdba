import { test } from "node:test";
import assert from "node:assert/strict";
import { decodeText } from "../../../../lib/source/nvml/cells.ts";

function bytesOf(...bytes: readonly number[]): Uint8Array {
  return new Uint8Array(bytes);
}

test("decodeText() ends at the first NUL", () => {
  assert.equal(decodeText(bytesOf(0x48, 0x32, 0, 0x30)), "H2");
});

test("decodeText() ends with the buffer when there is no NUL", () => {
  assert.equal(decodeText(bytesOf(0x48, 0x32)), "H2");
});

test("decodeText() replaces what is no text", () => {
  assert.equal(decodeText(bytesOf(0xf8, 0xc3, 0xa9, 0)), "\ufffd\u00e9");
});
