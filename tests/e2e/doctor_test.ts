/** `gpuctl doctor` on simulated servers with each fault, and on a machine without a driver. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CHECK_IDS } from "../../lib/model/doctor.ts";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { gpuctlCommand, runGpuctl, withRuntime } from "../support/binary.ts";
import { parseDocument } from "../support/documents.ts";
import { type Ended, runProgram } from "../support/running_program.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary.ts";

interface CheckLook {
  readonly id: string;
  readonly status: string;
  readonly evidence: readonly string[];
  readonly fix: string | null;
  readonly tookMs: number;
}

/** Checks of what this machine itself has, and of who runs the tests: a simulated server has no part in them. */
const OF_THIS_MACHINE = "namespace,framework,environment";

function readChecks({ status, stdout, stderr }: Ended, expected: number): readonly CheckLook[] {
  assert.deepEqual({ status, stderr }, { status: expected, stderr: "" }, stdout);
  return parseDocument<{ readonly checks: readonly CheckLook[] }>(stdout).checks;
}

function findingsOf(checks: readonly CheckLook[]): string[] {
  return checks.filter(({ status }) => status === "finding").map(({ id }) => id);
}

function firstEvidence(checks: readonly CheckLook[], id: string): string | undefined {
  return checks.find((each) => each.id === id)?.evidence[0];
}

/** An environment with a torch for this CUDA, whose interpreter leaves a mark if anybody runs it. */
function pythonWith(cuda: string, folder: TemporaryFolder): string {
  folder.write("env/pyvenv.cfg", "home = /nowhere/bin\nversion = 3.12.4\n");
  chmodSync(folder.write("env/bin/python", `#!/bin/sh\ntouch ${folder.path}/was-run\n`), 0o755);
  folder.write(
    "env/lib/python3.12/site-packages/torch/version.py",
    `import os\nos.system('touch ${folder.path}/was-run')\n__version__ = '2.9.0'\ncuda = '${cuda}'\nhip = None\n`,
  );
  return join(folder.path, "env");
}

const FAULTS: readonly (readonly [faults: string, finding: string, evidence: RegExp])[] = [
  [
    'library-version = "570.86.15"',
    "driver.versions-agree",
    /^the kernel module is 580\.159\.04 and .* is 570\.86\.15$/,
  ],
  ["[gpu.0]\nlost = true", "driver.answers", /^GPU 0 cannot be opened: the GPU has fallen off the bus/],
  ['device-access = "missing"', "devices.permissions", /^there is no \/dev\/nvidiactl$/],
  [
    'device-access = "refused"',
    "devices.permissions",
    /^this user may not open .*nvidia0 \(owner, group and mode 0:44 0660\)$/,
  ],
  ['device-access = "refused-by-rules"', "container.cgroup-devices", /the cgroup's device rules refuse/],
  ["[gpu.1]\npersistence = false", "persistence", /^GPU 1 has persistence mode off$/],
  ['[gpu.1]\nrecovery-action = "reset"', "reset.needed", /^GPU 1: the driver asks for a reset$/],
  [
    "[gpu.1]\nremap-pending = true",
    "reset.needed",
    /^GPU 1: bad rows of its memory are remapped at the next reset$/,
  ],
  [
    'xids = ["NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."]',
    "xid.history",
    /^00000000:01:00\.0: Xid 79 .*the GPU has fallen off the bus/,
  ],
  ['mps-daemon = "dead"', "mps", /^the MPS daemon of \/tmp\/nvidia-mps is dead/],
  [
    '[gpu.0]\nnvswitch = true\nfabric = "completed"\nfabric-status = 23',
    "fabric-manager",
    /^GPU 0 could not join its fabric/,
  ],
  [
    'container-tools = "no-toolkit"',
    "container.toolkit",
    /^docker is installed, and the NVIDIA container toolkit is not$/,
  ],
  [
    'container-tools = "stale"',
    "container.toolkit",
    /^\/etc\/cdi\/nvidia\.yaml names files of driver 470\.82\.01/,
  ],
];

test("gpuctl doctor finds each fault of a simulated server by its check, with a fix", async () => {
  for (const [faults, id, evidence] of FAULTS) {
    await using server = await startSim({ gpus: 2, faults });
    const checks = readChecks(await server.run(["doctor", "--json", "--skip", OF_THIS_MACHINE]), 10);
    const found = checks.find((each) => each.id === id);
    assert.equal(found?.status, "finding", `${faults}: ${JSON.stringify(found)}`);
    assert.match(found?.evidence[0] ?? "", evidence, faults);
    assert.notEqual(found?.fix, null, faults);
  }
});

test("gpuctl doctor makes every check of a sound server, and finds nothing", async () => {
  await using server = await startSim({ gpus: 2 });
  using folder = temporaryFolder();
  const python = pythonWith("12.4", folder);
  const run = await server.run(["doctor", "--json", "--python", python, "--skip", "namespace"]);
  // Whether every process could be looked at depends on who runs the tests.
  assert.ok(run.status === 0 || run.status === 3, run.stdout);
  const checks = readChecks(run, run.status);
  assert.deepEqual(checks.map(({ id }) => id), CHECK_IDS.filter((id) => id !== "namespace.pid"));
  assert.deepEqual(findingsOf(checks), []);
  assert.equal(existsSync(join(folder.path, "was-run")), false);
});

test("gpuctl doctor says whether the driver runs what a framework was built for, and starts no interpreter", async () => {
  await using server = await startSim({ gpus: 1, faults: '[gpu.0]\nname = "Tesla V100-SXM2-32GB"' });
  using folder = temporaryFolder();
  const words = ["doctor", "--json", "--only", "framework.torch", "--python", pythonWith("13.0", folder)];
  const checks = readChecks(await server.run(words), 10);
  assert.match(firstEvidence(checks, "framework.torch") ?? "", /was built for CUDA 13\.0/);
  assert.equal(
    checks[0]?.evidence[1],
    "it has no code for Tesla V100-SXM2-32GB: CUDA 13 no longer knows GPUs below compute capability 7.5",
  );
  assert.equal(existsSync(join(folder.path, "was-run")), false);
});

test("gpuctl doctor names who keeps a dead process's memory", async () => {
  await using server = await startSim({ gpus: 1 });
  await using job = await server.hold({ scene: "forked-child" });
  const checks = readChecks(await server.run(["doctor", "--json", "--only", "memory"]), 10);
  assert.deepEqual(findingsOf(checks), ["memory.holders-left-behind", "memory.ghosts"]);
  assert.match(
    firstEvidence(checks, "memory.ghosts") ?? "",
    new RegExp(`: end PID ${job.readyPid} .* likely keeps it$`),
  );
});

test("gpuctl doctor answers in time when the driver hangs, and the rest of it answers at once", async () => {
  await using server = await startSim({ gpus: 1, faults: "hang = true" });
  const checks = readChecks(
    await server.run(["doctor", "--json", "--deadline", "2s", "--skip", OF_THIS_MACHINE], { within: 10_000 }),
    10,
  );
  assert.deepEqual(findingsOf(checks), ["driver.answers"]);
  assert.ok(checks.every(({ tookMs }) => tookMs < 4000));
  const quick = checks.filter(({ tookMs }) => tookMs < 1000).map(({ id }) => id);
  for (
    const id of ["driver.module-loaded", "driver.versions-agree", "devices.permissions", "xid.history", "mps"]
  ) {
    assert.ok(quick.includes(id), id);
  }
  assert.deepEqual(
    readChecks(await server.run(["doctor", "--json", "--only", "xid"]), 0).map(({ status }) => status),
    ["ok"],
  );
});

test("gpuctl doctor is 3 where something cannot be checked or nothing applies, and a finding outweighs it", async () => {
  await using server = await startSim({ gpus: 1, faults: 'kernel-log = "denied"' });
  assert.deepEqual(
    readChecks(await server.run(["doctor", "--json", "--only", "xid"]), 3).map(({ status }) => status),
    ["unknown"],
  );
  assert.deepEqual(
    readChecks(await server.run(["doctor", "--json", "--only", "mps"]), 3).map(({ status }) => status),
    ["skipped"],
  );
  assert.equal((await server.run(["doctor", "--only", "driver,library,devices"])).status, 0);
  const both = await server.run(["doctor", "--quiet", "--only", "xid,environment"], {
    env: { CUDA_VISIBLE_DEVICES: "7" },
  });
  assert.equal(both.status, 10);
  assert.match(both.stdout, /^SIMULATED SERVER: .*\n\nFINDING {4}environment\.visible-devices: this shell: /);
  assert.doesNotMatch(both.stdout, /xid\.history/);
});

test("gpuctl doctor is 2 for a check that there is not, and names the nearest", async () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [
      ["--only", "memry"],
      'Cannot make the check "memry": there is none of that name\n  hint: did you mean memory?\n',
    ],
    [
      ["--skip", "xid.histry"],
      'Cannot make the check "xid.histry": there is none of that name\n  hint: did you mean xid.history?\n',
    ],
    [["--only", "mig", "--skip", "mig"], "Cannot make any check: --skip leaves out all that --only names\n"],
    [["--source", "saved.json"], "Cannot examine a machine from saved.json: a file is no live machine\n"],
  ];
  for (const [words, message] of cases) {
    assert.deepEqual(await runGpuctl(["doctor", ...words]), {
      status: 2,
      signal: null,
      stdout: "",
      stderr: `gpuctl: ${message}`,
    });
  }
});

test("gpuctl doctor --list lists the checks that would be made, and makes none", async () => {
  const { status, stdout } = await runGpuctl(["doctor", "--list", "--only", "memory"]);
  assert.equal(status, 0);
  assert.deepEqual(stdout.trimEnd().split("\n").slice(1).map((line) => line.split(" ")[0]), [
    "memory.holders-left-behind",
    "memory.ghosts",
    "memory.unattributed",
  ]);
});

test("gpuctl doctor -o writes the report to a file", async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const path = join(folder.path, "report.json");
  const { status, stdout } = await server.run(["doctor", "--json", "--only", "driver", "-o", path]);
  assert.deepEqual([status, stdout], [0, ""]);
  assert.equal(parseDocument<{ readonly simulated: boolean }>(readFileSync(path, "utf8")).simulated, true);
});

test("gpuctl doctor says without root what root would see", NEEDS_ROOT, async () => {
  await using server = await startSim({ gpus: 1 });
  const checks = readChecks(await runAsNobody(server, ["doctor", "--json", "--only", "memory.ghosts"]), 3);
  assert.deepEqual(checks.map(({ status, fix }) => [status, fix]), [[
    "unknown",
    `run it as root: sudo gpuctl doctor --source sim:${server.folder}`,
  ]]);
});

/** Runs gpuctl as a user who owns nothing, and who may reach the server. */
function runAsNobody({ folder, env }: SimulatedServer, words: readonly string[]): Promise<Ended> {
  chmodSync(join(folder, ".."), 0o755);
  const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] as const;
  return runProgram(
    [...nobody, ...gpuctlCommand(), ...words],
    withRuntime({ env: { ...env, HOME: "/dev/null" }, cwd: "/" }),
  );
}

test("gpuctl doctor tells a newcomer without a driver what is missing, and says nothing of what cannot be", {
  skip: hasDriver(),
}, async () => {
  using folder = temporaryFolder();
  const checks = readChecks(
    await runGpuctl(["doctor", "--json", "--skip", "namespace", "--python", pythonWith("12.4", folder)]),
    10,
  );
  assert.deepEqual(findingsOf(checks), ["driver.module-loaded"]);
  assert.equal(firstEvidence(checks, "driver.module-loaded"), "no NVIDIA driver is loaded");
  assert.equal(
    firstEvidence(checks, "driver.answers"),
    "no NVIDIA driver is loaded: see driver.module-loaded",
  );
  assert.match(
    firstEvidence(checks, "framework.torch") ?? "",
    /was built for CUDA 12\.4 .*; no NVIDIA driver is loaded/,
  );
});

function hasDriver(): string | false {
  return existsSync("/proc/driver/nvidia/version") && "this machine has a driver";
}
