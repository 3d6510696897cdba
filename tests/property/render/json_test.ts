import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { parseSnapshot } from "../../../lib/model/decode.ts";
import { encodeSnapshot } from "../../../lib/model/encode.ts";
import { renderJson, renderJsonLine } from "../../../lib/render/json.ts";
import { anySnapshot, hostileText } from "../../support/snapshots.ts";

test("renderJson() is read back as the same snapshot, and has nothing in it that a terminal obeys", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const text = renderJson(encodeSnapshot(snapshot));
    assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u);
    assert.deepEqual(parseSnapshot(text), wholeCharacters(snapshot));
  }));
});

test("renderJsonLine() writes one line that reads back as the same texts", () => {
  fc.assert(fc.property(fc.array(hostileText), (texts) => {
    const line = renderJsonLine(texts);
    assert.match(line, /^[^\n\r\u2028\u2029]*\n$/);
    assert.deepEqual(JSON.parse(line), wholeCharacters(texts));
  }));
});

/** The same value with U+FFFD for each half of a character. */
function wholeCharacters(value: object): unknown {
  return JSON.parse(
    JSON.stringify(value),
    (_, each: unknown) => typeof each === "string" ? each.toWellFormed() : each,
  );
}
