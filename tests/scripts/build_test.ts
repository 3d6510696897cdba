import assert from "node:assert/strict";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../support/running_program.ts";
import { standIn } from "../support/stand_in.ts";

const MOD =
  'import { writeSync } from "node:fs";\nimport { word } from "./lib/word.ts";\nwriteSync(1, `${word}\\n`);\n';
const SAYS = (word: string) => `export const word = "${word}";\n`;

test("build.ts builds once for the same sources, and again for others", async () => {
  using repository = standIn({ "mod.ts": MOD, "lib/word.ts": SAYS("one") });
  const program = join(repository.path, "dist/gpuctl");
  const build = async () => (await repository.run("build.ts")).stdout.replace(/\d+\.\d/, "N");
  const word = async () => (await runProgram([program])).stdout;

  assert.equal(await build(), "dist/gpuctl: built in N s\n");
  assert.equal(await word(), "one\n");
  assert.equal(await build(), "dist/gpuctl: up to date in N s\n");

  repository.write("lib/word.ts", SAYS("two"));
  assert.equal(await build(), "dist/gpuctl: built in N s\n");
  assert.equal(await word(), "two\n");

  rmSync(program);
  assert.equal(await build(), "dist/gpuctl: built in N s\n");
  repository.write("dist/gpuctl", "not what was built");
  assert.equal(await build(), "dist/gpuctl: built in N s\n");
  assert.equal(await word(), "two\n");
});

test("build.ts leaves the last program alone when the sources do not compile", async () => {
  using repository = standIn({ "mod.ts": MOD, "lib/word.ts": SAYS("one") });
  await repository.run("build.ts");
  const before = statSync(join(repository.path, "dist/gpuctl"));

  repository.write("lib/word.ts", "export const = ;\n");
  const { status, stderr } = await repository.run("build.ts");
  assert.equal(status, 1);
  assert.match(stderr, /Cannot compile mod\.ts:/);
  assert.equal(statSync(join(repository.path, "dist/gpuctl")).ino, before.ino);
});

test("build.ts refuses an argument that it does not know", async () => {
  using repository = standIn({});
  assert.deepEqual(await repository.run("build.ts", ["--arm"]), {
    status: 2,
    signal: null,
    stdout: "",
    stderr: "build: unknown argument --arm; known: --arm64\n",
  });
});
