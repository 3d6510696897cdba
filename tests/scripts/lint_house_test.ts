import assert from "node:assert/strict";
import { test } from "node:test";
import plugin from "../../scripts/lint_house.ts";

/** What the house's rules say of a file, without the plugin's name. */
function lint(path: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, path, source).map(({ id, message }) =>
    `${id.replace("house/", "")}: ${message}`
  );
}

test("file-length refuses a long file, and a very long test", () => {
  const lines = (count: number) => "let a = 1;\n".repeat(count);
  assert.deepEqual(lint("lib/core/fits.ts", lines(300)), []);
  assert.deepEqual(lint("lib/core/long.ts", lines(301)), [
    "file-length: 301 lines; a file here has at most 300",
  ]);
  assert.deepEqual(lint("tests/unit/fits_test.ts", lines(500)), []);
  assert.deepEqual(lint("tests/unit/long_test.ts", lines(501)), [
    "file-length: 501 lines; a file here has at most 500",
  ]);
});

test("file-name refuses drawers and what is not snake_case", () => {
  assert.deepEqual(lint("lib/core/cleanZombies.ts", ""), ["file-name: cleanZombies.ts is not snake_case"]);
  assert.deepEqual(lint("lib/core/gpu_utils.ts", ""), [
    "file-name: gpu_utils.ts is a drawer: name it for one thing",
  ]);
  assert.deepEqual(lint("lib/core/clean_zombies.ts", ""), []);
});

test("no-streams sees the streams of process, not words about them", () => {
  const message = "no-streams: process.stdout is slow to touch and loses output at exit";
  assert.deepEqual(lint("lib/world/real.ts", 'process.stdout.write("a");'), [message]);
  assert.deepEqual(lint("mod.ts", 'import { stdout } from "node:process"; stdout;'), [message]);
  assert.deepEqual(lint("lib/world/real.ts", '// process.stdout\nconst a = "process.stderr";'), []);
});

test("process-at-the-edge leaves node:process to mod.ts and lib/world", () => {
  const source = 'import process from "node:process"; process.pid;';
  assert.deepEqual(lint("lib/action/job.ts", source), [
    "process-at-the-edge: node:process belongs to mod.ts and lib/world",
  ]);
  assert.deepEqual(lint("lib/world/real.ts", source), []);
  assert.deepEqual(lint("scripts/test.ts", source), []);
});

test("no-runtime-globals leaves Deno and Bun to the FFI file", () => {
  const source = "Deno.exit(1); Bun.nanoseconds();";
  assert.deepEqual(lint("commands/list.ts", source), [
    "no-runtime-globals: Deno is not there under the other runtime",
    "no-runtime-globals: Bun is not there under the other runtime",
  ]);
  assert.deepEqual(lint("lib/native/dlopen.ts", source), []);
});

test("no-clock-in-pure-code wants equal output for equal input", () => {
  const source = "Date.now(); new Date(); new Date(0); Math.random(); setTimeout(f, 1);";
  assert.deepEqual(lint("lib/analysis/diff.ts", source), [
    "no-clock-in-pure-code: Date.now in a pure layer: equal input must give equal output",
    "no-clock-in-pure-code: new Date() in a pure layer: equal input must give equal output",
    "no-clock-in-pure-code: Math.random in a pure layer: equal input must give equal output",
    "no-clock-in-pure-code: setTimeout in a pure layer",
  ]);
  assert.deepEqual(lint("lib/world/real.ts", source), []);
});

test("absolute-library refuses a library by its bare name", () => {
  assert.deepEqual(
    lint(
      "lib/native/libc.ts",
      'openLibrary("libc.so.6", "getpid"); openLibrary("/lib/libc.so.6", "getpid");',
    ),
    [
      'absolute-library: "libc.so.6" may be found in the current directory',
    ],
  );
});

test("no-cast refuses a cast outside of the brands' constructors", () => {
  const source = 'const a = b as string; const c = ["d"] as const;';
  assert.deepEqual(lint("lib/render/table.ts", source), ["no-cast: a cast is a claim that nobody checks"]);
  assert.deepEqual(lint("lib/core/units.ts", source), []);
});

test("no-only and no-sleep-in-tests watch over the tests", () => {
  assert.deepEqual(lint("tests/unit/a_test.ts", 'test.only("a", f); setTimeout(f, 1);'), [
    "no-only: test.only leaves every other test out",
    "no-sleep-in-tests: a fixed sleep proves nothing",
  ]);
  assert.deepEqual(lint("tests/unit/a_test.ts", 'import { setTimeout } from "node:timers/promises";'), [
    "no-sleep-in-tests: a fixed sleep proves nothing",
  ]);
});
