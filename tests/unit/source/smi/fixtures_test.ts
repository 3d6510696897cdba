import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { parseSmiText, recogniseText } from "../../../../lib/source/smi/parse.ts";
import { readSmiFixture, readSmiManifest } from "../../../support/smi_fixtures.ts";
import { summarise } from "../../../support/smi_summary.ts";

const MANIFEST = readSmiManifest();

for (const { file, expected, reading, refused } of MANIFEST) {
  const text = readSmiFixture(file);
  if (reading === undefined) {
    test(`parseSmiText() refuses ${file}: ${expected}`, () => {
      assert.throws(() => parseSmiText(text), { name: "SyntaxError", message: refused });
    });
    test(`recogniseText() knows no kind for ${file}`, () => assert.equal(recogniseText(text), undefined));
    continue;
  }
  test(`parseSmiText() reads ${file}: ${expected}`, () => {
    assert.deepEqual(summarise(parseSmiText(text)), reading);
  });
  test(`recogniseText() knows ${file} by its content`, () => assert.equal(recogniseText(text), reading.kind));
}

test("The manifest names every fixture and says where it is from", () => {
  const files = readdirSync(new URL("../../../fixtures/smi/", import.meta.url)).filter((name) =>
    name !== "manifest.json"
  );
  assert.deepEqual(MANIFEST.map(({ file }) => file).toSorted(), files.toSorted());
  assert.deepEqual(MANIFEST.filter(({ origin, command }) => origin === "" || command === ""), []);
});
