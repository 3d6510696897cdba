import assert from "node:assert/strict";
import { test } from "node:test";
import { schemaCommand } from "../../../commands/schema.ts";
import { type Ending, GpuctlError } from "../../../lib/core/errors.ts";
import { publishedSchema } from "../../support/documents.ts";

async function run(...words: readonly string[]) {
  const ended: Ending[] = [];
  const written: [string, string][] = [];
  let out = "";
  const world = {
    terminal: { out: (text: string) => void (out += text) },
    files: { writeWhole: (path: string, text: string) => void written.push([path, text]) },
  };
  const command = schemaCommand(world, (ending) => ended.push(ending));
  await command.parseAsync([...words], { from: "user" });
  return { out, ended, written };
}

function usage(message: string, hint: string) {
  return new GpuctlError("usage", message, { hint });
}

test("gpuctl schema lists every document with its name, its schema and where it comes from", async () => {
  const { out, ended } = await run();
  assert.deepEqual([out.split("\n").slice(0, 2), ended], [[
    "NAME              SCHEMA                     OF",
    "snapshot          gpuctl.snapshot/1          What gpuctl snapshot --json prints",
  ], ["ok"]]);
});

test("gpuctl schema prints the JSON Schema of a document by either of its names", async () => {
  const [short, full] = [await run("diff"), await run("gpuctl.diff/1")];
  const { $schema, $id, title, description, type } = JSON.parse(short.out);
  assert.deepEqual({ $schema, $id, title, description, type }, {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "urn:gpuctl:diff/1",
    title: "gpuctl.diff/1",
    description: "What gpuctl diff --json prints, of a job as of two snapshots. Keys may be added within a " +
      "version, and none changes its meaning: pass over those that you do not know.",
    type: "object",
  });
  assert.deepEqual(full, short);
});

test("gpuctl schema -o writes the schema to a file and nothing to the terminal", async () => {
  const { out, written } = await run("snapshot", "-o", "snapshot.schema.json");
  const [[path, text] = ["", "null"]] = written;
  assert.deepEqual([out, path, JSON.parse(text)], [
    "",
    "snapshot.schema.json",
    publishedSchema("gpuctl.snapshot/1"),
  ]);
});

test("gpuctl schema refuses a name that it does not have, and names the nearest", async () => {
  const sentence = (name: string) => `Cannot print the schema "${name}": there is no such document`;
  const cases: readonly [name: string, hint: string][] = [
    ["snapshots", "did you mean gpuctl schema snapshot?"],
    ["gpuctl.snapshot/2", "did you mean gpuctl schema gpuctl.snapshot/1?"],
    ["toString", "gpuctl schema lists them"],
    ["", "gpuctl schema lists them"],
  ];
  for (const [name, hint] of cases) await assert.rejects(run(name), usage(sentence(name), hint));
});
