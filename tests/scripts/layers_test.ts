import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findBreaches, type Import } from "../../scripts/layers.ts";
import { temporaryFolder } from "../support/temporary.ts";

const CHECK = fileURLToPath(new URL("../../scripts/check_layers.ts", import.meta.url));

function graph(imports: Readonly<Record<string, readonly (string | Import)[]>>): Map<string, Import[]> {
  const plain = (target: string | Import) =>
    typeof target === "string" ? { target, isTypeOnly: false } : target;
  return new Map(Object.entries(imports).map(([path, targets]) => [path, targets.map(plain)]));
}

/** Runs the check on a tree of its own. */
function check(
  files: Readonly<Record<string, string>>,
): { status: number | null; stdout: string; stderr: string } {
  using root = temporaryFolder();
  for (const [path, source] of Object.entries({ "deno.json": "{}\n", ...files })) root.write(path, source);
  const ended = spawnSync(process.execPath, ["run", "-A", CHECK, root.path], { encoding: "utf8" });
  return { status: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

test("check_layers accepts what the table allows", () => {
  const ended = check({
    "lib/core/units.ts": "export type Bytes = number;\n",
    "lib/model/gpu.ts": 'import type { Bytes } from "../core/units.ts";\nexport type Used = Bytes;\n',
    "lib/proc/stat.ts": 'import { readFileSync } from "node:fs";\nexport const read = readFileSync;\n',
    "mod.ts": 'export const load = () => import("./lib/core/units.ts");\n',
  });
  assert.deepEqual(ended, { status: 0, stdout: "4 modules, 0 breaches\n", stderr: "" });
});

test("check_layers names file and target of each import that a layer may not have", () => {
  const ended = check({
    "lib/core/units.ts": 'import { readFileSync } from "node:fs";\nexport const read = readFileSync;\n',
    "lib/source/sim.ts": "export const sim = 1;\n",
    // Prose and strings that look like imports are none.
    "lib/model/gpu.ts": 'export const text = `import "../source/sim.ts"`; // import "../source/sim.ts";\n',
    "commands/list.ts": 'import { sim } from "../lib/source/sim.ts";\nexport const list = sim;\n',
    "commands/late.ts": 'export const late = () => import("../lib/source/sim.ts");\n',
  });
  assert.deepEqual(ended, {
    status: 1,
    stdout: "5 modules, 3 breaches\n",
    stderr: [
      "lib/core/units.ts may not import node:fs: lib/core/ is pure",
      ...["late", "list"].map((name) =>
        `commands/${name}.ts may not import lib/source/sim.ts: commands/ may import lib/core/, lib/model/, ` +
        "lib/analysis/, lib/render/, lib/action/, lib/world/ports"
      ),
      "",
    ].join("\n"),
  });
});

test("check_layers fails for a module that it cannot read", () => {
  const { status, stderr } = check({ "lib/core/units.ts": "export const = ;\n" });
  assert.equal(status, 1);
  assert.match(stderr, /Cannot read lib\/core\/units\.ts: /);
});

test("findBreaches() lets a layer import the types of another where only these are allowed", () => {
  const types: Import = { target: "lib/analysis/diff.ts", isTypeOnly: true };
  assert.deepEqual(findBreaches(graph({ "lib/render/table.ts": [types], "lib/analysis/diff.ts": [] })), []);
  assert.deepEqual(findBreaches(graph({ "lib/render/table.ts": [{ ...types, isTypeOnly: false }] })), [
    "lib/render/table.ts may not import lib/analysis/diff.ts: lib/render/ may import its types only",
  ]);
});

test("findBreaches() keeps a package at the edge that needs it", () => {
  assert.deepEqual(
    findBreaches(graph({ "lib/source/file.ts": ["csv-parse/sync"], "lib/model/gpu.ts": ["csv-parse/sync"] })),
    [
      "lib/model/gpu.ts may not import csv-parse/sync: lib/model/ has no use for this package",
    ],
  );
});

test("findBreaches() wants a layer for every module", () => {
  assert.deepEqual(findBreaches(graph({ "lib/misc/odd.ts": [] })), ["lib/misc/odd.ts is in no layer"]);
});

test("findBreaches() shows each circle once, and the way around it", () => {
  const circle = graph({
    "lib/core/a.ts": ["lib/core/b.ts"],
    "lib/core/b.ts": ["lib/core/c.ts"],
    "lib/core/c.ts": ["lib/core/b.ts"],
  });
  assert.deepEqual(findBreaches(circle), ["import circle: lib/core/b.ts -> lib/core/c.ts -> lib/core/b.ts"]);
});
