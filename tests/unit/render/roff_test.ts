import assert from "node:assert/strict";
import { test } from "node:test";
import {
  escapeRoff,
  formatExample,
  formatMacro,
  formatText,
  formatVerbatim,
} from "../../../lib/render/roff.ts";

test("escapeRoff() names every character that roff would change or take for its own", () => {
  assert.equal(
    escapeRoff("a\\b -x 'it' `k` ^ ~ \"q\" … 🙂"),
    "a\\eb \\-x \\(aqit\\(aq \\(gak\\(ga \\(ha \\(ti \\(dqq\\(dq \\[u2026] \\[u1F642]",
  );
});

test("formatMacro() keeps each text one argument", () => {
  assert.equal(formatMacro("B", '--name "x y"', ""), '.B "\\-\\-name \\(dqx y\\(dq" ""');
});

test("formatText() breaks long lines at blanks and lets none of them begin with a request", () => {
  const word = "x".repeat(76);
  assert.equal(formatText(`.SH a  b\n.c ${word} .d 'e`), `\\&.SH a b .c\n${word}\n\\&.d \\(aqe`);
});

test("formatVerbatim() keeps blanks and line breaks, and lets no line be a request", () => {
  assert.equal(
    formatVerbatim(["  a   b ", "", ".so /etc/passwd", "'c"]),
    [
      ".nf",
      "  a   b",
      ".sp",
      "\\&.so /etc/passwd",
      "\\(aqc",
      ".fi",
    ].join("\n"),
  );
});

test("formatExample() sets verbatim lines off", () => {
  assert.equal(formatExample(["gpuctl"]), ".RS 4\n.nf\ngpuctl\n.fi\n.RE");
});
