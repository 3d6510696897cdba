import assert from "node:assert/strict";
import { test } from "node:test";
import { locateToml, placeIn } from "../../../lib/model/toml_places.ts";

test("locateToml() finds tables, arrays of tables and keys, and counts the tables of an array", () => {
  const text = [
    "top = 1",
    "[[rule]] # the first",
    '  user = "alice"',
    '"gpus" = [0,',
    "  1]",
    "[[rule]]",
    "a.b = 2",
    "[rule.more]",
    "x = 3",
    "[default]",
    "gpus = 'any'",
  ].join("\n");
  assert.deepEqual(
    Object.fromEntries([...locateToml(text)].map(([path, at]) => [path, [at.line, at.column]])),
    {
      top: [1, 1],
      "rule/0": [2, 1],
      "rule/0/user": [3, 3],
      "rule/0/gpus": [4, 1],
      "rule/1": [6, 1],
      "rule/1/a": [7, 1],
      "rule/1/a/b": [7, 1],
      "rule/1/more": [8, 1],
      "rule/1/more/x": [9, 1],
      default: [10, 1],
      "default/gpus": [11, 1],
    },
  );
});

test("locateToml() takes nothing inside strings, comments and lists for a table or a key", () => {
  const text = [
    'a = """',
    "[[rule]]",
    'b = "',
    '"""',
    "c = [ # [d]",
    "  '[e]', \"f = ]\",",
    "]",
    "g = 'h # i'",
    "j = { k = '''",
    "l = 1''' }",
    "m = 2",
  ].join("\n");
  assert.deepEqual([...locateToml(text).keys()], ["a", "c", "g", "j", "m"]);
});

test("placeIn() gives the nearest table around what has no place of its own", () => {
  const places = locateToml("\nrule = [{ user = 1 }]\n");
  assert.deepEqual(placeIn(places, "rule/0/user"), { line: 2, column: 1 });
  assert.deepEqual(placeIn(places, "default"), { line: 1, column: 1 });
});

test("locateToml() counts each line of a long document once", () => {
  const rules = 50_000;
  const startedAt = performance.now();
  const places = locateToml("[[rule]]\nuid = 1\n".repeat(rules));
  assert.deepEqual(placeIn(places, `rule/${rules - 1}/uid`), { line: 2 * rules, column: 1 });
  // Counting from the beginning each time takes minutes.
  assert.ok(performance.now() - startedAt < 10_000);
});
