/** What every command has in common: its options and where they come from, its manners towards pipes, its complaints. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { quoteArguments } from "../../lib/core/text.ts";
import { gpuctlCommand, runGpuctl, withRuntime } from "../support/binary.ts";
import { readCleaning } from "../support/cleaning.ts";
import { readLook } from "../support/look.ts";
import { type Ended, runProgram } from "../support/running_program.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

const SNAPSHOT = quoteArguments([...gpuctlCommand(), "snapshot"]);
const FORMATS = "Allowed choices are table, json, csv, prometheus.";

/** Runs a line of bash, in which gpuctl finds a simulated server. */
function runShell(line: string, { env }: Pick<SimulatedServer, "env">): Promise<Ended> {
  return runProgram(["bash", "-c", line], withRuntime({ env }));
}

function ended(status: number, { stdout = "", stderr = "" } = {}): Ended {
  return { status, signal: null, stdout, stderr };
}

test("gpuctl --version prints the version and nothing else", async () => {
  const config: { version: string } = JSON.parse(
    readFileSync(fileURLToPath(new URL("../../deno.json", import.meta.url)), "utf8"),
  );
  assert.deepEqual(await runGpuctl(["--version"]), ended(0, { stdout: `gpuctl ${config.version}\n` }));
});

test("gpuctl ends with 0 and in silence when whoever reads it has read enough", async () => {
  await using server = await startSim({ gpus: 8 });
  assert.deepEqual(
    await runShell(`${SNAPSHOT} | head -1; echo "\${PIPESTATUS[0]}"`, server),
    ended(0, { stdout: "SIMULATED SERVER: no real GPU is behind these numbers\n0\n" }),
  );
  // A reader that is gone before the first byte: while it is there, the pipe has room for all of it.
  assert.deepEqual(
    await runShell(`exec 3> >(exec true); wait "$!"; ${SNAPSHOT} --json >&3; echo "$?" >&2`, server),
    ended(0, { stderr: "0\n" }),
  );
});

test("gpuctl is 3 when its output has no room", async () => {
  await using server = await startSim({ gpus: 1 });
  const stderr = "gpuctl: Cannot write to standard output: ENOSPC: no space left on device\n";
  assert.deepEqual(await runShell(`${SNAPSHOT} >/dev/full`, server), ended(3, { stderr }));
  const version = quoteArguments([...gpuctlCommand(), "--version"]);
  assert.deepEqual(await runShell(`${version} >/dev/full`, server), ended(3, { stderr }));
});

test("gpuctl is 2 for a line that makes no sense, and suggests one that does", async () => {
  const invalid = (option: string, word: string, why: string) =>
    `gpuctl: option '${option}' argument '${word}' is invalid. ${why}\n`;
  const duration = "expected a number with ms, s, m, h or d, such as 10s";
  const size = "expected a number with B, KiB, MiB, GiB or TiB, such as 10MiB";
  const lines: readonly [string, string][] = [
    [
      "snapsot",
      'gpuctl: Cannot run "snapsot": there is no such command\n  hint: did you mean gpuctl snapshot?\n',
    ],
    [
      "xyzzy",
      'gpuctl: Cannot run "xyzzy": there is no such command\n  hint: gpuctl --help lists the commands\n',
    ],
    ["snapshot --formta csv", "gpuctl: unknown option '--formta'\n  hint: did you mean --format?\n"],
    ["snapshot --format xml", invalid("--format <how>", "xml", FORMATS)],
    ["snapshot all", "gpuctl: too many arguments for 'snapshot'. Expected 0 arguments but got 1: all.\n"],
    [
      "snapshot --deadline 5",
      invalid("--deadline <time>", "5", `Cannot parse "5" as a duration: ${duration}`),
    ],
    [
      "clean-zombies --min-bytes 10MB",
      invalid("--min-bytes <size>", "10MB", `Cannot parse "10MB" as a size: ${size}`),
    ],
    ["clean-zombies --pid -1", invalid("--pid <pids>", "-1", 'Cannot parse "-1" as a pid')],
    ["snapshot --config", "gpuctl: option '--config <file>' argument missing\n"],
  ];
  for (const [line, stderr] of lines) {
    assert.deepEqual(await runGpuctl(line.split(" ")), ended(2, { stderr }));
  }
});

test("gpuctl takes options from variables, and says which variable is wrong", async () => {
  await using server = await startSim({ gpus: 2 });
  const run = (env: Readonly<Record<string, string>>) => server.run(["snapshot"], { env });
  assert.match((await run({ GPUCTL_FORMAT: "csv" })).stdout, /^takenAt,host,/);
  assert.equal(readLook(await run({ GPUCTL_JSON: "1", GPUCTL_GPU: "1" })).gpus.length, 1);
  assert.deepEqual(
    await run({ GPUCTL_FORMAT: "xml" }),
    ended(2, { stderr: `gpuctl: Cannot use GPUCTL_FORMAT: ${FORMATS}\n` }),
  );
  assert.deepEqual(
    await run({ GPUCTL_JSON: "perhaps" }),
    ended(2, { stderr: 'gpuctl: Cannot use GPUCTL_JSON: "perhaps" is neither true nor false\n' }),
  );
});

test("gpuctl takes options from the user's file, then --config's, then variables, then the line; each outdoes those before", async () => {
  await using server = await startSim({ gpus: 4 });
  using home = temporaryFolder();
  home.write(".config/gpuctl/config.toml", '[snapshot]\nformat = "json"\ngpu = "0"\n');
  const named = home.write("named.toml", '[snapshot]\ngpu = "1"\n[clean-zombies]\nquiet = true\n');
  const chosen = async (args: readonly string[], env = {}) => {
    const look = readLook(await server.run(["snapshot", ...args], { env: { HOME: home.path, ...env } }));
    return look.gpus[0]?.index;
  };
  assert.deepEqual([
    await chosen([]),
    await chosen(["--config", named]),
    await chosen([`--config=${named}`], { GPUCTL_GPU: "2" }),
    await chosen(["--config", named, "--gpu", "3"], { GPUCTL_GPU: "2" }),
  ], [0, 1, 2, 3]);
});

test("gpuctl is 2 for a configuration that makes no sense, with the place and the nearest right name", async () => {
  using folder = temporaryFolder();
  const files: readonly [text: string, complaint: string][] = [
    [
      'deadlin = "3s"\n',
      'Cannot use FILE:1:1: "deadlin" is no setting for every command\n  hint: did you mean "deadline"?',
    ],
    [
      '# mine\n[snapshot]\n  fromat = "csv"\n',
      'Cannot use FILE:3:3: gpuctl snapshot has no option "fromat"\n  hint: did you mean "format"?',
    ],
    [
      '[snapsho]\nformat = "csv"\n',
      'Cannot use FILE:1:2: there is no command "snapsho"\n  hint: did you mean "snapshot"?',
    ],
    ['[snapshot]\nformat = "xml"\n', `Cannot use FILE:2:1: ${FORMATS}`],
    ["[snapshot]\njson = 1\n", 'Cannot use FILE:2:1: "json" must be true or false'],
    ["[snapshot]\nformat = true\n", 'Cannot use FILE:2:1: "format" must be a text'],
    ["[snapshot]\nformat =\n", "Cannot read FILE:2:9: Invalid TOML document: invalid value"],
  ];
  for (const [text, complaint] of files) {
    const path = folder.write("config.toml", text);
    const stderr = `gpuctl: ${complaint.replace("FILE", path)}\n`;
    assert.deepEqual(await runGpuctl(["snapshot", "--config", path]), ended(2, { stderr }));
  }
});

test("gpuctl never takes --yes from a file or a variable: who means it types it", async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const path = folder.write("config.toml", "[clean-zombies]\nyes = true\n");
  assert.deepEqual(
    await server.run(["clean-zombies", "--config", path]),
    ended(2, { stderr: `gpuctl: Cannot use ${path}:2:1: "yes" counts only on the command line\n` }),
  );
  const cleaning = readCleaning(
    await server.run(["clean-zombies", "--json"], { env: { GPUCTL_YES: "1" } }),
    0,
  );
  assert.equal(cleaning.plan, true);
});

test("gpuctl is 2 when the configuration that was named is not there", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/none.toml`;
  const stderr = `gpuctl: Cannot read the configuration ${path}: ENOENT: no such file or directory\n`;
  assert.deepEqual(await runGpuctl(["snapshot", "--config", path]), ended(2, { stderr }));
});

test("gpuctl is 2 for a configuration without an end", async () => {
  const stderr = "gpuctl: Cannot read the configuration /dev/zero: it is larger than 64 MiB\n";
  assert.deepEqual(await runGpuctl(["snapshot", "--config", "/dev/zero"]), ended(2, { stderr }));
});

test("gpuctl is 2 for a file without a name", async () => {
  const stderr = "gpuctl: option '-o, --output <file>' argument '' is invalid. It names no file.\n";
  assert.deepEqual(await runGpuctl(["snapshot", "-o", ""]), ended(2, { stderr }));
});
