import assert from "node:assert/strict";
import { test } from "node:test";
import { milliseconds } from "../../../lib/core/units.ts";
import {
  formatUnitArgument,
  formatUnitPath,
  formatUnitProgram,
  formatUnitSpan,
} from "../../../lib/render/unit_syntax.ts";

test("formatUnitArgument() leaves plain words alone", () => {
  for (const word of ["--min-age", "5m", "sim:/srv/sim", "--class=orphan,inherited", "a@b+c"]) {
    assert.equal(formatUnitArgument(word), word);
  }
});

test("formatUnitArgument() quotes what systemd would split, end, expand or unescape", () => {
  assert.deepEqual(
    ["", "a b", ";", "#x", "it's", 'say "x"', "a\\b", "50%", "$HOME", "${HOME}"].map(formatUnitArgument),
    [
      '""',
      '"a b"',
      '";"',
      '"#x"',
      '"it\'s"',
      '"say \\"x\\""',
      '"a\\\\b"',
      '"50%%"',
      '"$$HOME"',
      '"$${HOME}"',
    ],
  );
});

test("formatUnitArgument() keeps a line break, a control and what reorders text out of the file", () => {
  assert.equal(
    formatUnitArgument("a\nExecStart=/x\u0007\u202e\u{e0001}"),
    '"a\\u000aExecStart=/x\\u0007\\u202e\\U000e0001"',
  );
});

test("formatUnitProgram() looks for no variable in a program's path", () => {
  assert.equal(formatUnitProgram("/opt/a b$c%d/gpuctl"), '"/opt/a b$c%%d/gpuctl"');
});

test("formatUnitPath() quotes the colon that would separate two paths", () => {
  assert.deepEqual(
    ["/srv/sim", "/srv/a b", "/srv/a:b", '/srv/a"b\\c%d$e'].map(formatUnitPath),
    ["/srv/sim", '"/srv/a b"', '"/srv/a:b"', '"/srv/a\\"b\\\\c%%d$e"'],
  );
});

test("formatUnitSpan() takes the largest unit that fits", () => {
  assert.deepEqual(
    [600_000, 90_000, 1500].map((span) => formatUnitSpan(milliseconds(span))),
    ["10min", "90s", "1500ms"],
  );
});
