import assert from "node:assert/strict";
import { test } from "node:test";
import { manCommand } from "../../../commands/man.ts";
import { type Ending, GpuctlError } from "../../../lib/core/errors.ts";
import { PROGRAM } from "../../support/described_program.ts";

async function run(...words: readonly string[]) {
  const ended: Ending[] = [];
  const written: string[] = [];
  let out = "";
  const world = {
    terminal: { out: (text: string) => void (out += text) },
    files: {
      writeWhole: (path: string, text: string) => void written.push(`${path}: ${text.split("\n")[0]}`),
    },
  };
  const command = manCommand(world, (ending) => ended.push(ending), [], () => Promise.resolve(PROGRAM));
  await command.parseAsync([...words], { from: "user" });
  return { title: /^\.TH "([^"]*)"/.exec(out)?.[1]?.replaceAll("\\", ""), ended, written };
}

test("gpuctl man finds a page by the words of its command, its alias and its own name", async () => {
  const names = [[], ["gpuctl"], ["look-again"], ["sim", "init"], ["sim-init"], ["gpuctl-sim-init"]];
  const pages = await Promise.all(names.map((words) => run(...words)));
  assert.deepEqual(pages.map(({ title }) => title), [
    "GPUCTL",
    "GPUCTL",
    "GPUCTL-LOOK",
    "GPUCTL-SIM-INIT",
    "GPUCTL-SIM-INIT",
    "GPUCTL-SIM-INIT",
  ]);
});

test("gpuctl man --into writes every page and prints none", async () => {
  const { title, ended, written } = await run("--into", "/man");
  assert.deepEqual([title, ended, written.map((text) => text.split(":")[0])], [undefined, ["ok"], [
    "/man/gpuctl.1",
    "/man/gpuctl-look.1",
    "/man/gpuctl-sim.1",
    "/man/gpuctl-sim-init.1",
  ]]);
});

test("gpuctl man refuses a page that there is not, and one page with --into", async () => {
  const sentence = 'Cannot print the page "loo": there is no such command';
  await assert.rejects(
    run("loo"),
    new GpuctlError("usage", sentence, { hint: "did you mean gpuctl man look?" }),
  );
  await assert.rejects(
    run("look", "--into", "/man"),
    new GpuctlError("usage", "Cannot write one page into a directory: --into writes all of them"),
  );
});
