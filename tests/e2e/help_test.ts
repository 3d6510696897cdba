/** Help of every command: where it is asked for, and that it fits a terminal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { widthOf } from "../../lib/render/layout.ts";
import { runGpuctl } from "../support/binary.ts";
import { readOwnHelp } from "../support/own_help.ts";

const COMMANDS = readOwnHelp().map(({ path }) => path);

test("gpuctl's help fits 80 columns, for every command", async () => {
  assert.ok(COMMANDS.length > 15);
  for (const path of COMMANDS) {
    const { stdout } = await runGpuctl([...path, "--help"], { env: { COLUMNS: "80" } });
    const wide = stdout.split("\n").filter((line) => widthOf(line) > 80);
    assert.deepEqual(wide, [], `gpuctl ${path.join(" ")} --help`);
  }
});

test("gpuctl's help breaks a sentence only where the line is full", async () => {
  for (const path of COMMANDS) {
    const { stdout } = await runGpuctl([...path, "--help"]);
    const [, description = ""] = stdout.split("\n\n");
    // A command without a description goes on with its arguments.
    const lines = /^\w+:\n/.test(description) ? [] : description.split("\n");
    const early = lines.filter((line, at) => {
      const [word = ""] = lines[at + 1]?.split(" ") ?? [];
      return at < lines.length - 1 && widthOf(`${line} ${word}`) <= 80;
    });
    assert.deepEqual(early, [], `gpuctl ${path.join(" ")} --help`);
  }
});

test("gpuctl help says of a command what its --help says", async () => {
  for (const path of COMMANDS) {
    assert.deepEqual(await runGpuctl(["help", ...path]), await runGpuctl([...path, "--help"]));
  }
});

test("gpuctl is 2 where help is asked for about a command that there is not", async () => {
  const refusal = (stderr: string) => ({ status: 2, signal: null, stdout: "", stderr });
  const lines: readonly [string, string][] = [
    [
      "nonsense --help",
      'gpuctl: Cannot run "nonsense": there is no such command\n  hint: gpuctl --help lists the commands\n',
    ],
    [
      "help snapsot",
      'gpuctl: Cannot run "snapsot": there is no such command\n  hint: did you mean gpuctl snapshot?\n',
    ],
    [
      "sim holdd --help",
      'gpuctl: Cannot run "holdd": gpuctl sim has no such command\n  hint: did you mean gpuctl sim hold?\n',
    ],
    [
      "constructor",
      'gpuctl: Cannot run "constructor": there is no such command\n  hint: gpuctl --help lists the commands\n',
    ],
  ];
  for (const [line, stderr] of lines) assert.deepEqual(await runGpuctl(line.split(" ")), refusal(stderr));
});
