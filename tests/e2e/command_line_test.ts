/** What every command has in common: its options and where they come from, its manners towards pipes, its complaints. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { quoteArguments } from "../../lib/core/text.ts";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { gpuctlCommand, runGpuctl, withRuntime } from "../support/binary.ts";
import { readLook } from "../support/look.ts";
import { type Ended, runProgram } from "../support/running_program.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

const SNAPSHOT = quoteArguments([...gpuctlCommand(), "snapshot"]);
const FORMATS = '"xml" is none of table, json, csv, prometheus';

/** Begins the line of another user. */
const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] as const;

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
  const stderr = "gpuctl: Cannot write to standard output: no space is left on the device\n";
  assert.deepEqual(await runShell(`${SNAPSHOT} >/dev/full`, server), ended(3, { stderr }));
  const version = quoteArguments([...gpuctlCommand(), "--version"]);
  assert.deepEqual(await runShell(`${version} >/dev/full`, server), ended(3, { stderr }));
});

test("gpuctl is 2 for a line that makes no sense, and suggests one that does", async () => {
  const see = (command: string) => `gpuctl ${command} --help says what it takes`;
  const lines: readonly [line: string, sentence: string, hint: string][] = [
    ["snapsot", 'Cannot run "snapsot": there is no such command', "did you mean gpuctl snapshot?"],
    ["xyzzy", 'Cannot run "xyzzy": there is no such command', "gpuctl --help lists the commands"],
    [
      "snapshot --formta csv",
      "Cannot use --formta: gpuctl snapshot has no such option",
      "did you mean --format?",
    ],
    [
      "snapshot --format xml",
      `Cannot use --format: ${FORMATS}`,
      see("snapshot"),
    ],
    [
      "snapshot all",
      'Cannot run gpuctl snapshot with "all": it takes no words beside its options',
      see("snapshot"),
    ],
    [
      "schema a b",
      "Cannot run gpuctl schema with 2 words (a, b): it takes 1 word",
      see("schema"),
    ],
    [
      "snapshot --deadline 5",
      'Cannot use --deadline: Cannot parse "5" as a duration: expected a number with ms, s, m, h or d, such as 10s',
      see("snapshot"),
    ],
    [
      "clean-zombies --min-bytes 10MB",
      'Cannot use --min-bytes: Cannot parse "10MB" as a size: did you mean 10MiB?',
      see("clean-zombies"),
    ],
    [
      "diff --tolerance 5 -- true",
      'Cannot use --tolerance: Cannot parse "5" as a size: it needs a unit, such as 5MiB',
      see("diff"),
    ],
    [
      "watch --memory-above 90",
      'Cannot use --memory-above: Cannot parse "90" as a limit: it needs a unit, such as 90% or 90GiB',
      see("watch"),
    ],
    ["clean-zombies --pid -1", 'Cannot use --pid: Cannot parse "-1" as a pid', see("clean-zombies")],
    ["snapshot --config", "Cannot use --config: its value is missing", "--config <file>"],
    [
      "diff python --lr 3",
      "Cannot use --lr: gpuctl diff has no such option",
      "a command to run stands after --: gpuctl diff -- python job.py",
    ],
    [
      "diff job.py",
      "Cannot compare: 1 word was given",
      "a command to run stands after --: gpuctl diff -- python job.py",
    ],
    ["reset-gpu", "Cannot run gpuctl reset-gpu: <gpu> is missing", "gpuctl reset-gpu [options] <gpu...>"],
    [
      "reset-gpu all",
      'Cannot parse "all" as a GPU: there is no "all"; name them, such as 0-7',
      see("reset-gpu"),
    ],
    [
      "reset-gpu 0-",
      'Cannot parse "0-" as a GPU: expected an index, a range, a UUID or a PCI address',
      see("reset-gpu"),
    ],
    [
      "completions csh",
      'Cannot run gpuctl completions: "csh" is none of bash, zsh, fish',
      see("completions"),
    ],
  ];
  for (const [line, sentence, hint] of lines) {
    assert.deepEqual(
      await runGpuctl(line.split(" ")),
      ended(2, { stderr: `gpuctl: ${sentence}\n  hint: ${hint}\n` }),
    );
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
      'Cannot use FILE:1:1: there is no command "snapsho"\n  hint: did you mean "snapshot"?',
    ],
    ['[snapshot]\nformat = "xml"\n', `Cannot use FILE:2:1: ${FORMATS}`],
    ["[snapshot]\njson = 1\n", 'Cannot use FILE:2:1: "json" must be true or false'],
    ["[snapshot]\nformat = true\n", 'Cannot use FILE:2:1: "format" must be a text'],
    ["[snapshot]\nformat =\n", "Cannot use FILE:2:9: invalid value"],
    [
      '[snapshot]\nfromat = "csv"\njson = 1\n[snapsho]\n',
      "Cannot use FILE: there are 3 mistakes\n" +
      'FILE:2:1: gpuctl snapshot has no option "fromat" (did you mean "format"?)\n' +
      'FILE:3:1: "json" must be true or false\n' +
      'FILE:4:1: there is no command "snapsho" (did you mean "snapshot"?)',
    ],
  ];
  for (const [text, complaint] of files) {
    const path = folder.write("config.toml", text);
    const stderr = `gpuctl: ${complaint.replaceAll("FILE", path)}\n`;
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
  assert.deepEqual(
    await server.run(["clean-zombies"], { env: { GPUCTL_YES: "1" } }),
    ended(2, { stderr: "gpuctl: Cannot use GPUCTL_YES: --yes counts only on the command line\n" }),
  );
});

test("gpuctl refuses a variable that is an option of no command, and takes those that are none of its settings", async () => {
  await using server = await startSim({ gpus: 1 });
  const run = async (env: Readonly<Record<string, string>>, args = ["snapshot"]) => {
    const { status, stderr } = await server.run(args, { env });
    return [status, stderr];
  };
  assert.deepEqual(await run({ GPUCTL_PROTEKT: "train" }), [
    2,
    "gpuctl: Cannot use GPUCTL_PROTEKT: no command has such an option\n  hint: did you mean GPUCTL_PROTECT?\n",
  ]);
  assert.deepEqual(await run({ GPUCTL_PROTEKT: "train" }, ["snapshot", "--help"]), [0, ""]);
  const others = {
    GPUCTL_PROTECT: "train",
    GPUCTL_ALERT_KIND: "xid",
    GPUCTL_VERSION: "1.0",
    GPUCTL_SERVICE_HOST: "10.0.0.1",
    GPUCTL_METRICS_PORT_9100_TCP_ADDR: "10.0.0.1",
  };
  assert.deepEqual(await run(others), [0, ""]);
});

test(
  "gpuctl goes on without the settings of a user that it cannot read, but ends and resets nothing",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    using folder = temporaryFolder();
    // As the home of root is to everybody else.
    const path = folder.write("home/.config/gpuctl/config.toml", "[snapshot]\njson = true\n");
    chmodSync(folder.path, 0o700);
    chmodSync(dirname(server.folder), 0o755);
    const run = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      const home = { HOME: join(folder.path, "home") };
      const { status, stdout, stderr } = await runProgram(
        [...NOBODY, ...gpuctlCommand(), ...args],
        withRuntime({ env: { ...server.env, ...home, ...env }, cwd: "/" }),
      );
      return { status, hasAnswer: stdout !== "", stderr };
    };
    const state = `gpuctl: Cannot read the configuration ${path}: permission denied`;
    const warned = { status: 0, hasAnswer: true, stderr: `${state}; going on without it\n` };
    assert.deepEqual(await run(["snapshot"]), warned);
    assert.deepEqual(await run(["clean-zombies"]), warned);
    const refused = {
      status: 4,
      hasAnswer: false,
      stderr: `${state}, and it may say whom to leave alone\n` +
        "  hint: su - and sudo -H set HOME to the user's own; XDG_CONFIG_HOME=/none stands for no settings of a user\n",
    };
    assert.deepEqual(await run(["clean-zombies", "--yes"]), refused);
    assert.deepEqual(await run(["reset-gpu", "0", "--yes"]), refused);
    assert.deepEqual(await run(["diff", "--kill-leftovers", "--", "true"]), refused);
    const without = await run(["clean-zombies", "--yes"], { XDG_CONFIG_HOME: "/none" });
    assert.doesNotMatch(without.stderr, /configuration/);
    // Named on the line it was meant, whatever the command does.
    const named = { status: 4, hasAnswer: false, stderr: `${state}\n` };
    assert.deepEqual(await run(["snapshot", "--config", path], { HOME: "/none" }), named);
  },
);

test(
  "gpuctl says of every file that it may not use that permission is denied, and is 4",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    using folder = temporaryFolder();
    chmodSync(folder.path, 0o700);
    chmodSync(dirname(server.folder), 0o755);
    const path = join(folder.path, "x");
    const write = `Cannot write ${path}`;
    const lines: readonly [args: readonly string[], sentence: string][] = [
      [["snapshot", "-o", path], write],
      [["schema", "snapshot", "-o", path], write],
      [["man", "--into", folder.path], `Cannot write ${folder.path}/gpuctl.1`],
      [["doctor", "-o", path], write],
      [["reset-gpu", "0", "-o", path], write],
      [["watch", "--count", "1", "--prometheus", path], write],
      [["snapshot", "--source", path], `Cannot read ${path}`],
      [["snapshot", "--source", `sim:${folder.path}`], `Cannot read ${folder.path}/server.json`],
      [["snapshot", "--config", path], `Cannot read the configuration ${path}`],
      [["verify-isolation", "--lint", path], `Cannot read ${path}`],
      [["verify-isolation", "--rules", path], `Cannot read the rules ${path}`],
      [["sim", "init", path], `Cannot make a simulated server in ${path}`],
      [["sim", "init", "/tmp/none", "--faults", path], `Cannot read the faults in ${path}`],
    ];
    for (const [args, sentence] of lines) {
      const { status, stderr } = await runProgram(
        [...NOBODY, ...gpuctlCommand(), ...args],
        withRuntime({ env: { ...server.env, HOME: "/none" }, cwd: "/" }),
      );
      assert.deepEqual([status, stderr], [4, `gpuctl: ${sentence}: permission denied\n`], args.join(" "));
    }
  },
);

test("gpuctl is 3 for a file or a directory that is not there, and says so in words", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "none");
  const lines: readonly [args: readonly string[], sentence: string][] = [
    [["man", "--into", path], `Cannot write ${path}/gpuctl.1: there is no such directory`],
    [["schema", "snapshot", "-o", `${path}/x`], `Cannot write ${path}/x: there is no such directory`],
    [["snapshot", "--source", path], `Cannot read ${path}: there is no such file`],
    [["snapshot", "--config", path], `Cannot read the configuration ${path}: there is no such file`],
    [["verify-isolation", "--lint", path], `Cannot read ${path}: there is no such file`],
    [["verify-isolation", "--rules", path], `Cannot read the rules ${path}: there is no such file`],
  ];
  for (const [args, sentence] of lines) {
    assert.deepEqual(await runGpuctl(args), ended(3, { stderr: `gpuctl: ${sentence}\n` }));
  }
});

test("gpuctl is 3 for a configuration without an end", async () => {
  const stderr = "gpuctl: Cannot read the configuration /dev/zero: it is larger than 64 MiB\n";
  assert.deepEqual(await runGpuctl(["snapshot", "--config", "/dev/zero"]), ended(3, { stderr }));
});

test("gpuctl is 2 for a file without a name", async () => {
  const stderr =
    "gpuctl: Cannot use --output: it names no file\n  hint: gpuctl snapshot --help says what it takes\n";
  assert.deepEqual(await runGpuctl(["snapshot", "-o", ""]), ended(2, { stderr }));
});
