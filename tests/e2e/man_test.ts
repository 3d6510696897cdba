/** Every page of `gpuctl man`, before the programs that show manual pages. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { runGpuctl } from "../support/binary.ts";
import { needsProgram } from "../support/needs_program.ts";
import { readOwnHelp } from "../support/own_help.ts";
import { runProgram } from "../support/running_program.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** Pages bear no date, so that equal sources give equal bytes. It is all that may be said of them. */
const NO_DATE = /^mandoc: \S+: WARNING: missing date, using "": TH$/;

async function writePages() {
  const folder = temporaryFolder();
  const path = join(folder.path, "man1");
  mkdirSync(path);
  const ended = await runGpuctl(["man", "--into", path]);
  assert.deepEqual(ended, { status: 0, signal: null, stdout: "", stderr: "" });
  const pages = readdirSync(path).sort().map((name) => join(path, name));
  return { pages, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test(
  "gpuctl man --into writes pages that mandoc has nothing to say of",
  needsProgram("mandoc", "mandoc"),
  async () => {
    using written = await writePages();
    for (const page of written.pages) {
      const { stdout, stderr } = await runProgram(["mandoc", "-T", "lint", page]);
      const complaints = `${stdout}${stderr}`.split("\n").filter((line) =>
        line !== "" && !NO_DATE.test(line)
      );
      assert.deepEqual(complaints, [], page);
    }
  },
);

test(
  "gpuctl man --into writes pages that groff warns of nothing in",
  needsProgram("groff", "groff"),
  async () => {
    using written = await writePages();
    for (const page of written.pages) {
      const { status, stderr } = await runProgram(["groff", "-man", "-ww", "-Tutf8", page]);
      assert.deepEqual({ page, status, stderr }, { page, status: 0, stderr: "" });
    }
  },
);

test("gpuctl man --into writes a page for every command, with every option of its --help", async () => {
  using written = await writePages();
  const found = written.pages.map((path) => {
    const text = readFileSync(path, "utf8").replaceAll("\\-", "-");
    const terms = [...text.matchAll(/^\.B "(-[^"]*)"$/gm)].map(([, term = ""]) => term);
    return [basename(path), terms.flatMap((term) => term.match(/(?<!\S)--?[\w-]+/g) ?? [])] as const;
  });
  const expected = readOwnHelp().map(({ path, flags }) =>
    [`${["gpuctl", ...path].join("-")}.1`, flags] as const
  );
  assert.deepEqual(new Map(found), new Map(expected));
});

test("gpuctl man prints what --into writes", async () => {
  using written = await writePages();
  const page = written.pages.find((path) => path.endsWith("/gpuctl-sim-hold.1")) ?? assert.fail("no page");
  const { status, stdout } = await runGpuctl(["man", "sim", "hold"]);
  assert.deepEqual([status, stdout], [0, readFileSync(page, "utf8")]);
});
