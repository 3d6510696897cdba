import assert from "node:assert/strict";
import { test } from "node:test";
import { DOCUMENTS } from "../../lib/model/schema/documents.ts";
import { renderJsonSchema } from "../../lib/render/json_schema.ts";
import { runGpuctl } from "../support/binary.ts";

test("gpuctl schema NAME prints the very schema that the documents of these tests are held against", async () => {
  for (const document of DOCUMENTS) {
    assert.deepEqual(await runGpuctl(["schema", document.name]), {
      status: 0,
      signal: null,
      stdout: renderJsonSchema(document),
      stderr: "",
    });
  }
});

test("gpuctl schema is 2 for a document that there is not, and names the nearest", async () => {
  assert.deepEqual(await runGpuctl(["schema", "snapshot s"]), {
    status: 2,
    signal: null,
    stdout: "",
    stderr: 'gpuctl: Cannot print the schema "snapshot s": there is no such document\n' +
      "  hint: did you mean gpuctl schema snapshot?\n",
  });
});
