import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { resolveRules } from "../../../lib/analysis/isolation_rules.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { parseRuleFile } from "../../../commands/rule_file.ts";
import { locateToml } from "../../../lib/model/toml_places.ts";
import { reportOf } from "../../support/machine.ts";
import { GROUPS, USERS } from "../../unit/analysis/rules_case.ts";

const { gpus } = reportOf({ gpus: [{}, {}], processes: [] });

/** Pieces that a rule file is made of, in any order, with whatever may stand between them. */
const piece = fc.oneof(
  fc.constantFrom(
    ...["[[rule]]", "[default]", "[rule]", "user", "usr", "gpus", "exclusive", "slurm-job", "=", '"alice"'],
    ...['"0-1"', '"none"', '"given"', "[", "]", "{", "}", ",", ".", "#", '"""', "'''", '"', "'", "true", "7"],
    ...["\n", "\n", "\n", " ", "\t", "\r\n", "\u001b[2J", "\\"],
  ),
  fc.string({ unit: "binary", maxLength: 5 }),
);
const text = fc.oneof(
  fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join("")),
  fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(" ")),
  fc.string({ unit: "binary", maxLength: 200 }),
);
const name = fc.oneof(fc.constantFrom("alice", "bob", "*", "a*", ""), fc.string({ maxLength: 6 }));
const table = fc.record({
  user: fc.oneof(name, fc.array(name, { maxLength: 3 }), fc.constant(true)),
  uid: fc.oneof(fc.integer({ min: -2, max: 2000 }), fc.array(fc.nat(), { maxLength: 2 })),
  unit: name,
  unti: name,
  gpus: fc.oneof(
    fc.constantFrom("0", "0-1", "any", "none", "given", "9"),
    fc.integer({ min: -1, max: 3 }),
    name,
  ),
  exclusive: fc.oneof(fc.boolean(), name),
}, { requiredKeys: [] });
const written = fc.array(table, { maxLength: 4 }).map((tables) =>
  tables.map((each) =>
    ["[[rule]]", ...Object.entries(each).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)].join(
      "\n",
    )
  ).join("\n")
);

function isInside(
  source: string,
  { line, column }: { readonly line: number; readonly column: number },
): boolean {
  const found = source.split("\n")[line - 1];
  return found !== undefined && column >= 1 && column <= found.length + 1;
}

test("parseRuleFile() takes any text, and each of its mistakes points into that text", () => {
  fc.assert(fc.property(fc.oneof(text, written), (source) => {
    const file = parseRuleFile(source);
    const { mistakes } = resolveRules(file, { gpus, users: known(USERS), groups: known(GROUPS) });
    assert.ok(mistakes.length >= file.mistakes.length);
    for (const { place, message } of mistakes) {
      assert.ok(isInside(source, place), `${place.line}:${place.column} ${message}`);
      assert.ok(message !== "");
    }
  }));
});

test("resolveRules() has a line that opens a rule for every rule that it takes", () => {
  fc.assert(fc.property(written, (source) => {
    const { rules } = resolveRules(parseRuleFile(source), {
      gpus,
      users: absent("no-permission"),
      groups: known(GROUPS),
    });
    for (const { line } of rules) assert.equal(source.split("\n")[line - 1], "[[rule]]");
    assert.equal(new Set(rules.map(({ line }) => line)).size, rules.length);
  }));
});

test("locateToml() ends for any text, and each place is inside it", () => {
  fc.assert(fc.property(text, (source) => {
    for (const place of locateToml(source).values()) assert.ok(isInside(source, place));
  }));
});
