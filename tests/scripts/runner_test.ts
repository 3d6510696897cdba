import assert from "node:assert/strict";
import { test } from "node:test";
import { standIn } from "../support/stand_in.ts";

const GOOD = 'import { test } from "node:test";\ntest("good", () => {});\n';
const BAD = 'import { test } from "node:test";\ntest("bad", () => { throw new Error("as it should"); });\n';

test("run_tests.ts sums up both runtimes in its last line", async () => {
  using repository = standIn({ "tests/unit/a_test.ts": GOOD, "tests/unit/deep/b_test.ts": GOOD });
  const { status, stdout, stderr } = await repository.run("run_tests.ts", ["unit"]);
  assert.deepEqual({ status, stderr, last: stdout.trimEnd().split("\n").at(-1) }, {
    status: 0,
    stderr: "",
    last: "4 passed, 0 failed",
  });
});

test("run_tests.ts counts failed tests, crashed files and files without a test, and shows why", async () => {
  using repository = standIn({
    "tests/unit/bad_test.ts": BAD,
    "tests/unit/crash_test.ts": `throw new Error("at load");\n${GOOD}`,
    "tests/unit/empty_test.ts": "",
    "tests/unit/good_test.ts": GOOD,
  });
  const { status, stdout } = await repository.run("run_tests.ts", ["unit"]);
  assert.equal(status, 1);
  assert.equal(stdout.trimEnd().split("\n").at(-1), "2 passed, 6 failed");
  for (const shown of ["as it should", "at load", "tests/unit/empty_test.ts ran no test"]) {
    assert.equal(stdout.split(shown).length > 2, true, `${shown} is shown for both runtimes`);
  }
});

test("run_tests.ts counts a runner that died as every file failed", async () => {
  using repository = standIn({
    "tests/scripts/a_test.ts": GOOD,
    "tests/scripts/kill_test.ts":
      'import process from "node:process";\nprocess.kill(process.pid, "SIGKILL");\n',
  });
  const { status, stdout } = await repository.run("run_tests.ts", ["scripts"]);
  assert.equal(status, 1);
  assert.match(stdout, /the runner left no whole report \(SIGKILL\): all 2 test files count as failed/);
  assert.equal(stdout.trimEnd().split("\n").at(-1), "0 passed, 2 failed");
});

test("run_tests.ts takes a layer without tests for a failure", async () => {
  using repository = standIn({});
  const { status, stdout } = await repository.run("run_tests.ts", ["contract"]);
  assert.equal(status, 1);
  assert.match(stdout, /tests\/contract has no test file/);
  assert.equal(stdout.trimEnd().split("\n").at(-1), "0 passed, 2 failed");
});

test("run_tests.ts runs no end-to-end test when the build failed", async () => {
  using repository = standIn({ "mod.ts": "export const = ;\n", "tests/e2e/a_test.ts": GOOD });
  const { status, stdout } = await repository.run("run_tests.ts", ["e2e"]);
  assert.equal(status, 1);
  assert.match(stdout, /Cannot compile mod\.ts/);
  assert.match(stdout, /not run, as build failed/);
  assert.equal(stdout.trimEnd().split("\n").at(-1), "0 passed, 2 failed");
});

test("run_tests.ts refuses a layer that is none", async () => {
  using repository = standIn({});
  assert.deepEqual(await repository.run("run_tests.ts", ["units"]), {
    status: 2,
    signal: null,
    stdout: "",
    stderr:
      "test: no layer is called units; there are scripts, unit, property, contract, e2e, e2e-deno, hardware, systemd\n",
  });
});
