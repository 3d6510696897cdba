import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { printable, quoteArguments, splitArguments, truncate } from "../../../lib/core/text.ts";

/** Any text that a process could name itself with, and what no process could: lone surrogates. */
const hostile = fc.string({
  unit: fc.oneof(fc.constantFrom(..."'\"\\ \n\t=$`\x1b\x9b\u202e\ud800"), fc.string()),
});

test("splitArguments() reads back what quoteArguments() wrote, whatever the arguments", () => {
  fc.assert(fc.property(fc.array(hostile), (words) => {
    assert.deepEqual(splitArguments(quoteArguments(words)), words);
  }));
});

test("splitArguments() ends on any text: with arguments or with a SyntaxError", () => {
  fc.assert(fc.property(hostile, (line) => {
    try {
      const words = splitArguments(line);
      assert.deepEqual(splitArguments(quoteArguments(words)), words);
    } catch (error) {
      assert.ok(error instanceof SyntaxError);
    }
  }));
});

test("printable() leaves nothing that drives a terminal, and changes nothing the second time", () => {
  fc.assert(fc.property(hostile, (text) => {
    const safe = printable(text);
    assert.doesNotMatch(safe, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    assert.equal(printable(safe), safe);
  }));
});

test("truncate() gives a beginning of the text, never longer than asked for", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), fc.integer({ min: -2, max: 40 }), (text, width) => {
    const cut = truncate(text, width);
    assert.ok(Array.from(cut).length <= Math.max(0, width) || cut === text);
    assert.ok(cut === text || text.startsWith(cut.replace(/…$/, "")));
  }));
});
