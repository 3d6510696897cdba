import assert from "node:assert/strict";
import { chmodSync, mkdirSync } from "node:fs";
import { relative } from "node:path";
import { test } from "node:test";
import { findSmi } from "../../../../lib/source/smi/locate.ts";
import { parseFieldNames, WANTED_FIELDS } from "../../../../lib/source/smi/query_fields.ts";
import { readSmiFixture } from "../../../support/smi_fixtures.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

test("findSmi() takes the first known place that has a program, and its libraries", () => {
  using folder = temporaryFolder();
  mkdirSync(`${folder.path}/folder/nvidia-smi`, { recursive: true });
  const plain = folder.write("plain/nvidia-smi", "");
  const program = folder.write("program/nvidia-smi", "");
  chmodSync(plain, 0o644);
  chmodSync(program, 0o755);
  const places = ["missing", "folder", "plain", "program"].map((name) => ({
    path: `${folder.path}/${name}/nvidia-smi`,
    libraries: `/lib/${name}`,
  }));
  assert.deepEqual(findSmi({ places }), { path: program, libraries: "/lib/program" });
});

test("findSmi() looks into absolute directories of a search path, after the known places, and only if it is given one", () => {
  using folder = temporaryFolder();
  const program = folder.write("bin/nvidia-smi", "");
  chmodSync(program, 0o755);
  assert.deepEqual(findSmi({ places: [], searchPath: `.::bin:${folder.path}/bin` }), { path: program });
  assert.equal(findSmi({ places: [], searchPath: relative(process.cwd(), `${folder.path}/bin`) }), undefined);
  assert.equal(findSmi({ places: [] }), undefined);
});

test("parseFieldNames() reads every name of the help, aliases too", () => {
  const names = parseFieldNames(readSmiFixture("help_query_gpu.txt"));
  assert.deepEqual(WANTED_FIELDS.filter((field) => !names.has(field)), []);
  assert.deepEqual(["gpu_name", "HMM", "Enabled", "bogus"].map((name) => names.has(name)), [
    true,
    false,
    false,
    false,
  ]);
});
