import assert from "node:assert/strict";
import { test } from "node:test";
import { tallyReport } from "../../scripts/junit.ts";

const ENDED_WELL = { succeeded: true, ending: "exit status 0" };
const ENDED_BADLY = { succeeded: false, ending: "exit status 1" };

// As Deno 2.9 writes it: the outer suite is the file, and tests inside describe() come under a suite of their own.
const DENO = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="5" failures="1" errors="0" time="0.239">
    <testsuite name="./tests/a_test.ts" tests="4" disabled="1" errors="0" failures="1">
        <testcase name="a() passes" classname="./tests/a_test.ts" time="0.001" line="3" col="1">
        </testcase>
        <testcase name="a() fails &lt;&amp;&gt;" classname="./tests/a_test.ts" time="0.002" line="4" col="1">
            <failure message="1 !== 2">AssertionError</failure>
        </testcase>
        <testcase name="later" classname="./tests/a_test.ts" time="0.000" line="5" col="1">
            <skipped/>
        </testcase>
        <testcase name="group" classname="./tests/a_test.ts" time="0.001" line="8" col="1">
        </testcase>
    </testsuite>
    <testsuite name="ext:deno_node/testing.ts" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="group &gt; x" classname="ext:deno_node/testing.ts" time="0.000" line="1" col="23191">
        </testcase>
    </testsuite>
</testsuites>`;

// As Bun 1.4 writes it: suites nest, and each test names its file.
const BUN = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="3" assertions="0" failures="1" skipped="0" time="0.06">
  <testsuite name="tests/a_test.ts" file="tests/a_test.ts" tests="3" assertions="0" failures="1" skipped="0">
    <testcase name="a() passes" classname="" time="0.0009" file="tests/a_test.ts" line="3" assertions="0" />
    <testsuite name="group" file="tests/a_test.ts" line="8" tests="1" assertions="0" failures="0" skipped="0">
      <testcase name="x" classname="group" time="0.00003" file="tests/a_test.ts" line="8" assertions="0" />
    </testsuite>
    <testcase name="a() fails" classname="" time="0.0009" file="tests/a_test.ts" line="4" assertions="0">
      <failure type="AssertionError" message="1 !== 2">AssertionError</failure>
    </testcase>
  </testsuite>
</testsuites>`;

test("tallyReport() counts a report of Deno", () => {
  assert.deepEqual(tallyReport(DENO, ["tests/a_test.ts"], ENDED_BADLY), {
    passed: 3,
    failed: 1,
    skipped: ["tests/a_test.ts: later"],
    notes: [],
  });
});

test("tallyReport() counts a report of Bun", () => {
  assert.deepEqual(tallyReport(BUN, ["tests/a_test.ts"], ENDED_BADLY), {
    passed: 2,
    failed: 1,
    skipped: [],
    notes: [],
  });
});

test("tallyReport() counts a file that ran no test as failed", () => {
  const tally = tallyReport(BUN, ["tests/a_test.ts", "tests/b_test.ts"], ENDED_BADLY);
  assert.deepEqual(tally, { passed: 2, failed: 2, skipped: [], notes: ["tests/b_test.ts ran no test"] });
});

test("tallyReport() counts a bad end that no test explains as failed", () => {
  const report = BUN.replace(/<failure.*<\/failure>/, "");
  assert.deepEqual(tallyReport(report, ["tests/a_test.ts"], { succeeded: false, ending: "SIGSEGV" }), {
    passed: 3,
    failed: 1,
    skipped: [],
    notes: ["the runner failed outside of any test (SIGSEGV)"],
  });
});

test("tallyReport() believes no report that was cut short", () => {
  for (const report of ["", BUN.slice(0, 700)]) {
    assert.deepEqual(tallyReport(report, ["tests/a_test.ts", "tests/b_test.ts"], ENDED_WELL), {
      passed: 0,
      failed: 2,
      skipped: [],
      notes: ["the runner left no whole report (exit status 0): all 2 test files count as failed"],
    });
  }
});
