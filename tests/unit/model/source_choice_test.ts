import assert from "node:assert/strict";
import { test } from "node:test";
import { isSourceChoice, parseSourceChoice, sourceOptionOf } from "../../../lib/model/source_choice.ts";

test("sourceOptionOf() gives what a shell takes for the same machine, and nothing for this one or a file", () => {
  const options = {
    "nvml": undefined,
    "nvml:/opt/lib.so": "--source nvml:/opt/lib.so",
    "nvidia-smi": "--source nvidia-smi",
    "sim:/tmp/a b": "--source 'sim:/tmp/a b'",
    "before.json": undefined,
    "-": undefined,
  };
  assert.deepEqual(
    Object.fromEntries(Object.keys(options).map((text) => [text, sourceOptionOf(parseSourceChoice(text))])),
    options,
  );
});

test("isSourceChoice() knows what parseSourceChoice() gives, and nothing else", () => {
  for (const text of ["nvml", "nvml:/opt/lib.so", "nvidia-smi", "sim:/tmp/a", "before.json"]) {
    assert.equal(isSourceChoice(parseSourceChoice(text)), true, text);
  }
  for (
    const value of [undefined, null, "nvml", {}, { kind: "sim" }, { kind: "file", path: 1 }, { kind: "x" }]
  ) {
    assert.equal(isSourceChoice(value), false, JSON.stringify(value));
  }
});
