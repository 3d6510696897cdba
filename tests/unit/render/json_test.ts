import { test } from "node:test";
import assert from "node:assert/strict";
import { renderJson, renderJsonLine } from "../../../lib/render/json.ts";

test("renderJson() indents, keeps the order of keys and ends in one line end", () => {
  assert.equal(
    renderJson({ schema: "gpuctl.x/1", b: [1, null], a: {} }),
    `{
  "schema": "gpuctl.x/1",
  "b": [
    1,
    null
  ],
  "a": {}
}
`,
  );
});

test("renderJsonLine() stays on one line, whatever stands in it", () => {
  assert.equal(renderJsonLine({ a: "x\ny\u2028z" }), '{"a":"x\\ny\\u2028z"}\n');
});

test("renderJson() escapes what a terminal obeys or an editor hides", () => {
  const texts = [
    "\x1b",
    "\x7f",
    "\x9b",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\u{e0041}",
    "\ue000",
    "訓🦊",
  ];
  assert.equal(
    renderJsonLine(texts),
    '["\\u001b","\\u007f","\\u009b","\\u202e","\\u2028","\\ufeff","\\udb40\\udc41","\\ue000","訓🦊"]\n',
  );
});

test("renderJson() writes no half of a character, which other parsers refuse, and leaves a text that looks like one", () => {
  assert.equal(
    renderJsonLine(["a\ud800b", "\udfff\udbff", "\\ud800", "\\\ud800", "🦊"]),
    '["a\ufffdb","\ufffd\ufffd","\\\\ud800","\\\\\ufffd","🦊"]\n',
  );
});
