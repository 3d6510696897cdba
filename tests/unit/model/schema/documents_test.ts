import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { DOCUMENTS, shortNameOf } from "../../../../lib/model/schema/documents.ts";
import { addition, damage } from "../../../support/document_changes.ts";
import { assertDocument, parseDocument, publishedSchema, validatorOf } from "../../../support/documents.ts";
import { EXAMPLES } from "../../../support/example_documents.ts";

const TESTS = fileURLToPath(new URL("../../../", import.meta.url));

/** Every object in a JSON Schema. */
function* partsOf(schema: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (typeof schema !== "object" || schema === null) return;
  yield { ...schema };
  for (const part of Object.values(schema)) yield* partsOf(part);
}

/** Every list in a document, with its place. */
function* listsOf(value: unknown, place = ""): Generator<[string, readonly unknown[]]> {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) yield [place, value];
  for (const [key, child] of Object.entries(value)) {
    yield* listsOf(child, `${place}/${Array.isArray(value) ? "*" : key}`);
  }
}

/** Keys that came within a version: documents that were written before lack them. */
const LACKED_BEFORE = /^\/(?:(?:holders|leftovers)\/\d+\/job|unreadableGpus) is missing$/;

test("DOCUMENTS names every document once, in short as in full", () => {
  const names = DOCUMENTS.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
  assert.deepEqual(DOCUMENTS.map(shortNameOf), [
    "snapshot",
    "diff",
    "samples",
    "clean-zombies",
    "audit",
    "verify-isolation",
    "lint",
    "reset",
    "watch",
    "doctor",
  ]);
  assert.deepEqual(Object.keys(EXAMPLES), names);
});

for (const { name } of DOCUMENTS) {
  const examples = EXAMPLES[name] ?? [];

  test(`the printed schema of ${name} says what each key means, and names nothing in vain`, () => {
    const schema = publishedSchema(name);
    const used = new Set([...partsOf(schema)].map(({ $ref }) => $ref));
    const unused = Object.keys(schema.$defs ?? {}).filter((part) => !used.has(`#/$defs/${part}`));
    const silent = [...partsOf(schema)].flatMap(({ type, properties }) =>
      type === "object" && typeof properties === "object" && properties !== null
        ? Object.entries(properties).filter(([, { description = "" }]) => description === "")
        : []
    ).map(([key]) => key);
    assert.deepEqual({ unused, silent }, { unused: [], silent: [] });
  });

  test(`the examples of ${name} have something in every list`, () => {
    const lengths = new Map<string, number>();
    for (const example of examples) {
      for (const [place, { length }] of listsOf(example)) {
        lengths.set(place, (lengths.get(place) ?? 0) + length);
      }
    }
    assert.deepEqual([...lengths].filter(([, length]) => length === 0), []);
  });

  test(`the printed schema of ${name} describes what is written, and no key is missing from it`, () => {
    for (const example of examples) assertDocument(JSON.parse(JSON.stringify(example)), name);
  });

  test(`the printed schema of ${name} refuses a document that lacks a key or has a value of another kind`, () => {
    const validate = validatorOf(name, "open");
    for (const example of examples) {
      const passed = [...damage(example)].filter(([, changed]) => validate(changed)).map(([what]) => what);
      assert.deepEqual(passed.filter((what) => !LACKED_BEFORE.test(what)), []);
    }
  });

  test(`the printed schema of ${name} lets keys be that it does not know; closed, it would not`, () => {
    const [open, closed] = [validatorOf(name, "open"), validatorOf(name, "closed")];
    for (const example of examples) {
      for (const [what, changed] of addition(example)) {
        assert.deepEqual([what, open(changed), closed(changed)], [what, true, false]);
      }
    }
  });
}

test("the printed schemas describe every document that is kept for tests", () => {
  const kept = ["golden/snapshot", "fixtures/snapshots"].flatMap((folder) =>
    readdirSync(join(TESTS, folder)).filter((name) => name.endsWith(".json")).map((name) =>
      join(folder, name)
    )
  ).filter((path) => !path.endsWith("newer_minor.json"));
  assert.ok(kept.length > 5);
  for (const path of kept) parseDocument(readFileSync(join(TESTS, path), "utf8"));
});

test("the printed schema of a snapshot takes one of a newer minor version, whose keys it does not know", () => {
  const newer = JSON.parse(readFileSync(join(TESTS, "fixtures/snapshots/newer_minor.json"), "utf8"));
  const [open, closed] = (["open", "closed"] as const).map((each) => validatorOf("gpuctl.snapshot/1", each));
  assert.deepEqual([open?.(newer), closed?.(newer)], [true, false]);
});
