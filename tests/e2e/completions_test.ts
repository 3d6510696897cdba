/** The scripts of `gpuctl completions` in the shells that they are for. */
import assert from "node:assert/strict";
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runGpuctl } from "../support/binary.ts";
import { needsProgram } from "../support/needs_program.ts";
import { readOwnHelp } from "../support/own_help.ts";
import { runProgram } from "../support/running_program.ts";
import { type Completing, offerIn, type Shell } from "../support/shell_completion.ts";
import { temporaryFolder } from "../support/temporary.ts";

const SHELLS: readonly Shell[] = ["bash", "zsh", "fish"];

/** What is offered at the end of each line: for the last word, its whole value. */
const CASES: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ["gpuctl sn", ["snapshot"]],
  ["gpuctl sim ", ["hold", "init"]],
  ["gpuctl sim --c", ["--config"]],
  ["gpuctl snapshot --format ", ["csv", "json", "prometheus", "table"]],
  ["gpuctl snapshot --format=j", ["json"]],
  ["gpuctl snapshot --json --red", ["--redact"]],
  ["gpuctl snapshot --deadline ", []],
  ["gpuctl snapshot --source nv", ["nvidia-smi", "nvml"]],
  ["gpuctl snapshot --source bef", ["before.json"]],
  ["gpuctl snapshot --source sim:s", ["sim:server"]],
  ["gpuctl snapshot --source=sim:s", ["sim:server"]],
  ["gpuctl snapshot -o ", ["before.json", "server"]],
  ["gpuctl diff --record=b", ["before.json"]],
  ["gpuctl diff ", ["before.json", "server"]],
  ["gpuctl diff -- tell-", ["tell-all", "tell-me"]],
  ["gpuctl diff --pin -- tell-me --json b", ["before.json"]],
  ["gpuctl diff-before-after --pi", ["--pin"]],
  ["gpuctl clean-zombies --class d", ["detached"]],
  ["gpuctl clean-zombies --class orphan,zo", ["orphan,zombie-leader"]],
  ["gpuctl clean-zombies --audit-log b", ["before.json"]],
  ["gpuctl verify-isolation --rules b", ["before.json"]],
  ["gpuctl verify-isolation --lint a.py b", ["before.json"]],
  ["gpuctl verify-isolation --lint a.py --js", ["--json"]],
  ["gpuctl verify-isolation --gpu 0 -- tell-m", ["tell-me"]],
  ["gpuctl systemd print -- --cl", ["--class"]],
  ["gpuctl systemd install -- --class st", ["stopped"]],
  ["gpuctl sim init ", ["server"]],
  ["gpuctl sim hold --scene sl", ["slow-release"]],
  ["gpuctl completions ", ["bash", "fish", "zsh"]],
  ["gpuctl man sim", ["sim", "sim-hold", "sim-init"]],
];

/** A folder with a file, a directory and two programs, and the script of a shell. */
async function prepare(shell: Shell): Promise<Completing & Disposable> {
  const { status, stdout, stderr } = await runGpuctl(["completions", shell]);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: "" });
  const folder = temporaryFolder();
  folder.write("here/before.json", "");
  folder.write("here/server/config.json", "");
  for (const name of ["tell-me", "tell-all"]) chmodSync(folder.write(`bin/${name}`, "#!/bin/sh\n"), 0o755);
  return {
    script: stdout,
    folder,
    path: `${join(folder.path, "bin")}:/usr/bin:/bin`,
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

for (const shell of SHELLS) {
  test(
    `gpuctl completions ${shell} makes ${shell} offer what may stand there`,
    needsProgram(shell, shell),
    async () => {
      using place = await prepare(shell);
      const offered = await offerIn(shell, CASES.map(([line]) => line), place);
      assert.deepEqual(offered.map((words, at) => [CASES[at]?.[0], words]), CASES);
    },
  );

  test(
    `gpuctl completions ${shell} has every command and option of --help`,
    needsProgram(shell, shell),
    async () => {
      using place = await prepare(shell);
      const lines = linesOfHelp();
      const offered = await offerIn(shell, lines.map(([line]) => line), place);
      assert.deepEqual(offered.map((words, at) => [lines[at]?.[0], words]), lines);
    },
  );

  test(`gpuctl completions ${shell} lets no name of a file run`, needsProgram(shell, shell), async () => {
    using place = await prepare(shell);
    const name = "ev$(touch pwned) `touch pwned`;touch pwned";
    place.folder.write(`here/${name}`, "");
    const offered = await offerIn(shell, ["gpuctl snapshot -o ev", "gpuctl snapshot --output=ev"], place);
    const inserted = shell === "fish" ? name : name.replace(/[$()`; ]/g, "\\$&");
    assert.deepEqual([
      offered.map((words) => words.join(" ")),
      existsSync(join(place.folder.path, "here/pwned")),
    ], [
      [inserted, inserted],
      false,
    ]);
  });
}

test("gpuctl completions bash works where = and : end no word", needsProgram("bash", "bash"), async () => {
  using place = await prepare("bash");
  place.folder.write("here/ev$(touch pwned)", "");
  // npm's completion takes them away for every program.
  const script = `COMP_WORDBREAKS=\${COMP_WORDBREAKS//[=:]/}\n${place.script}`;
  const lines = ["--format=j", "--source=sim:s", "--source sim:s", "--output=ev", "--output ev", "--gpu="]
    .map((words) => `gpuctl snapshot ${words}`);
  assert.deepEqual([
    await offerIn("bash", lines, { ...place, script }),
    existsSync(join(place.folder.path, "here/pwned")),
  ], [
    [
      ["json"],
      ["sim:server"],
      ["sim:server"],
      ["ev\\$\\(touch\\ pwned\\)"],
      ["ev\\$\\(touch\\ pwned\\)"],
      [],
    ],
    false,
  ]);
});

/** Each command with its options and, if it has any, its commands. */
function linesOfHelp(): readonly (readonly [line: string, offered: readonly string[]])[] {
  return readOwnHelp().flatMap(({ path, flags, commands }) => {
    const line = ["gpuctl", ...path, ""].join(" ");
    return [
      [`${line}-`, flags.toSorted()] as const,
      ...commands.length === 0 ? [] : [[line, commands.toSorted()] as const],
    ];
  });
}

test(
  "gpuctl completions bash is clean for shellcheck",
  needsProgram("shellcheck", "shellcheck"),
  async () => {
    const { stdout } = await runGpuctl(["completions", "bash"]);
    const { status, stdout: complaints } = await runProgram(["shellcheck", "-"], { input: stdout });
    assert.deepEqual({ status, complaints }, { status: 0, complaints: "" });
  },
);
