import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readCleaning } from "../../../commands/systemd_cleaning.ts";

const MANIFEST = fileURLToPath(new URL("../../../deploy/kubernetes/cronjob.yaml", import.meta.url));

/** A list of texts in YAML's flow style, which is JSON. */
function listOf(key: string): readonly string[] {
  const line = readFileSync(MANIFEST, "utf8").split("\n").find((each) =>
    each.trimStart().startsWith(`${key}: [`)
  );
  return JSON.parse(line?.slice(line.indexOf("[")) ?? "null");
}

test("the CronJob runs clean-zombies with options that there are", () => {
  const [program = ""] = listOf("command");
  const [command, ...words] = listOf("args");
  assert.equal(command, "clean-zombies");
  assert.deepEqual(readCleaning(program, words).words, ["--yes", "--quiet", "--min-age", "5m"]);
});

test("the CronJob has the capabilities that the service has, and no more", () => {
  const unit = readFileSync(
    fileURLToPath(new URL("../../../deploy/systemd/gpuctl-clean.service", import.meta.url)),
    "utf8",
  );
  const ofService = /^CapabilityBoundingSet=(.*)$/m.exec(unit)?.[1]?.split(" ");
  assert.deepEqual(listOf("drop"), ["ALL"]);
  assert.deepEqual(listOf("add").map((name) => `CAP_${name}`), ofService);
});
