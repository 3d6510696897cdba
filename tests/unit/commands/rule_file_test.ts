import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseRuleFile } from "../../../commands/rule_file.ts";

/** What is wrong with a text, as `line:column message`. */
function mistakesIn(...lines: readonly string[]): readonly string[] {
  return parseRuleFile(lines.join("\n")).mistakes.map(({ place, message }) =>
    `${place.line}:${place.column} ${message}`
  );
}

test("parseRuleFile() reads every key, single texts and numbers as lists of one", () => {
  const { rules, default: fallback, mistakes } = parseRuleFile(
    [
      "[[rule]]",
      'user = "alice"',
      "uid = 1000",
      'unit = ["a.service", "b.service"]',
      'container = "0123456789ab"',
      'pod = "p"',
      'slurm-job = "*"',
      'cgroup = "/x"',
      'gpus = [0, "GPU-5f3a", "00000000:C1:00.0"]',
      "exclusive = true",
      "[default]",
      "gpus = 3",
    ].join("\n"),
  );
  assert.deepEqual(mistakes, []);
  assert.deepEqual(rules, [{
    path: "rule/0",
    user: ["alice"],
    uid: [1000],
    unit: ["a.service", "b.service"],
    container: ["0123456789ab"],
    pod: ["p"],
    "slurm-job": ["*"],
    cgroup: ["/x"],
    gpus: ["0", "GPU-5f3a", "00000000:C1:00.0"],
    exclusive: true,
  }]);
  assert.deepEqual(fallback, { path: "default", gpus: ["3"] });
});

test("parseRuleFile() tells every mistake at once, each with its place and the key that was meant", () => {
  assert.deepEqual(
    mistakesIn(
      "[[rule]]",
      'usr = "alice"',
      "gpus = true",
      "[[rule]]",
      'user = ""',
      "gps = 0",
      "[[rule]]",
      "gpus = 0",
      "exclusive = 1",
      "[[rule]]",
      'gpus = "any"',
      "[[rule]]",
      "uid = -1",
      "[default]",
      "foo = 1",
      "[rules]",
    ),
    [
      '2:1 there is no key "usr"; did you mean "user"?',
      '3:1 "gpus" must be "any", "none", "given", or GPUs such as "0-3" or a list of them',
      '5:1 "user" must be a text or a list of texts, and none may be empty',
      '6:1 there is no key "gps"; did you mean "gpus"?',
      '9:1 "exclusive" must be true or false',
      '10:1 the rule is for nobody: user = "*" is for everybody',
      '12:1 there is no "gpus" in it',
      '13:1 "uid" must be a user\'s number such as 1000, or a list of them',
      '14:1 there is no "gpus" in it',
      '15:1 there is no key "foo"; there are: gpus',
      '16:1 there is no key "rules"; did you mean "rule"?',
    ],
  );
});

test("parseRuleFile() gives the parser's place for what is no TOML", () => {
  assert.deepEqual(mistakesIn("[[rule]]", "user = "), ["2:8 invalid value"]);
});

test("parseRuleFile() refuses a file that says nothing, and rules in another form", () => {
  assert.deepEqual(mistakesIn("# nothing yet"), ["1:1 there is neither a [[rule]] nor a [default]"]);
  assert.deepEqual(mistakesIn("[rule]", 'user = "alice"'), [
    "1:1 a rule begins with [[rule]], as there may be several",
  ]);
  assert.deepEqual(mistakesIn("rule = [1]"), ["1:1 this must be a table"]);
});

test("docs/isolation-rules.md shows rules that can be read", () => {
  const page = readFileSync(new URL("../../../docs/isolation-rules.md", import.meta.url), "utf8");
  const [, example] = /```toml\n(.*?)```/s.exec(page) ?? [];
  const { rules, default: fallback, mistakes } = parseRuleFile(example ?? "");
  assert.deepEqual([rules.length, fallback?.gpus, mistakes], [4, ["none"], []]);
});
