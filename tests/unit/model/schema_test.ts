import { test } from "node:test";
import assert from "node:assert/strict";
import { toJsonSchema } from "@valibot/to-json-schema";
import { encodeSnapshot } from "../../../lib/model/encode.ts";
import { SNAPSHOT_SCHEMA, SNAPSHOT_SCHEMA_NAME } from "../../../lib/model/schema.ts";
import { WORLDS } from "../../support/worlds.ts";

test("SNAPSHOT_SCHEMA has a JSON Schema that names every key and lets others be", () => {
  const { type, required, properties, additionalProperties } = toJsonSchema(SNAPSHOT_SCHEMA);
  const keys = Object.keys(encodeSnapshot(WORLDS.idle));
  assert.deepEqual({ type, required, properties: Object.keys(properties ?? {}), additionalProperties }, {
    type: "object",
    required: keys,
    properties: keys,
    additionalProperties: undefined,
  });
});

test("SNAPSHOT_SCHEMA_NAME is what encodeSnapshot() writes", () => {
  assert.equal(encodeSnapshot(WORLDS.idle).schema, SNAPSHOT_SCHEMA_NAME);
});

test("encodeSnapshot() has every key that scripts rely on", () => {
  const json = encodeSnapshot(WORLDS["forked-child"]);
  const promised: readonly [object | undefined, readonly string[]][] = [
    [json, [
      "schema",
      "takenAt",
      "source",
      "simulated",
      "host",
      "driver",
      "gpus",
      "holders",
      "ghosts",
      "problems",
    ]],
    [json.gpus[0], [
      "index",
      "uuid",
      "name",
      "busId",
      "memoryTotalBytes",
      "memoryUsedBytes",
      "memoryReservedBytes",
      "unattributedBytes",
      "processList",
    ]],
    [json.holders[0], [
      "pid",
      "startTicks",
      "uid",
      "user",
      "command",
      "state",
      "threads",
      "parentPid",
      "owner",
      "class",
      "evidence",
      "advice",
      "devices",
    ]],
    [json.holders[0]?.devices[0], ["gpu", "contextBytes", "open", "mapped"]],
    [json.ghosts[0], ["pid", "gpu", "contextBytes", "likelyHolders"]],
    [json.ghosts[0]?.likelyHolders[0], ["pid", "reasons"]],
  ];
  for (const [part, keys] of promised) {
    assert.deepEqual(keys.filter((key) => part === undefined || !Object.hasOwn(part, key)), []);
  }
});
