import { SaxesParser } from "saxes";
import type { Tally } from "./tally.ts";

interface TestCase {
  readonly file: string;
  readonly name: string;
  outcome: "passed" | "failed" | "skipped";
}

/**
 * Counts the report of `deno test --junit-path` or `bun test --reporter=junit`.
 *
 * Both leave out a file whose code threw before its first test, and Deno counts no uncaught error. So every file that
 * was to run and has no test in the report is one failure, and so is a bad end that no failed test explains.
 *
 * @param files the test files that were to run, from the root
 */
export function tallyReport(
  report: string,
  files: readonly string[],
  { succeeded, ending }: { readonly succeeded: boolean; readonly ending: string },
): Tally {
  const cases = readCases(report);
  if (cases === undefined) {
    const note =
      `the runner left no whole report (${ending}): all ${files.length} test files count as failed`;
    return { passed: 0, failed: Math.max(1, files.length), skipped: [], notes: [note] };
  }
  const seen = new Set(cases.map(({ file }) => file));
  const notes = files.filter((file) => !seen.has(file)).map((file) => `${file} ran no test`);
  const failedTests = cases.filter(({ outcome }) => outcome === "failed").length;
  if (!succeeded && failedTests + notes.length === 0) {
    notes.push(`the runner failed outside of any test (${ending})`);
  }
  return {
    passed: cases.filter(({ outcome }) => outcome === "passed").length,
    failed: failedTests + notes.length,
    skipped: cases.filter(({ outcome }) => outcome === "skipped").map(({ file, name }) => `${file}: ${name}`),
    notes,
  };
}

/** The tests of a report; `undefined` if it was cut short, as by a runner that crashed. */
function readCases(report: string): readonly TestCase[] | undefined {
  const cases: TestCase[] = [];
  let suite = "";
  let current: TestCase | undefined;
  let isWhole = true;
  const parser = new SaxesParser();
  parser.on("error", () => isWhole = false);
  parser.on("opentag", ({ name, attributes: { name: title = "", file } }) => {
    if (name === "testsuite") suite = title;
    if (name === "testcase") {
      // Bun nests suites and names the file; Deno's suite is the file.
      current = { file: (file ?? suite).replace(/^\.\//, ""), name: title, outcome: "passed" };
      cases.push(current);
    }
    if (current && (name === "failure" || name === "error")) current.outcome = "failed";
    if (current && name === "skipped") current.outcome = "skipped";
  });
  parser.on("closetag", ({ name }) => {
    if (name === "testcase") current = undefined;
  });
  parser.write(report).close();
  return isWhole ? cases : undefined;
}
