import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatUnitArgument } from "../../../lib/render/unit_syntax.ts";

/** What systemd.syntax(7), systemd.unit(5) and systemd.service(5) make of a line of words as we write them. */
function readLine(line: string): string[] {
  const pieces = line.match(/"(?:[^"\\]|\\.)*"|[^ ]+/g) ?? [];
  return pieces.map((piece) =>
    piece.replace(/^"(.*)"$/, "$1")
      .replace(/\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\\(["\\])/g, (_, short, long, itself) =>
        itself ?? String.fromCodePoint(parseInt(short ?? long, 16)))
      .replaceAll("%%", "%").replaceAll("$$", "$")
  );
}

const word = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom(" ", '"', "'", "\\", "$", "%", ";", "\n", "u", "0", "{", "\u202e") }),
).filter((text) => !text.includes("\0"));

test("formatUnitArgument() writes any words as one line that reads back as the same words", () => {
  fc.assert(fc.property(fc.array(word), (words) => {
    const line = words.map(formatUnitArgument).join(" ");
    assert.deepEqual(readLine(line), words);
    assert.doesNotMatch(line, /\p{Cc}/u);
  }));
});
