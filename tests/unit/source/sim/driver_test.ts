import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { deviceMinor } from "../../../../lib/core/ids.ts";
import type { DriverReport } from "../../../../lib/model/gpu.ts";
import { openSimDriver } from "../../../../lib/source/sim/driver.ts";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { simRecogniser } from "../../../../lib/source/sim/recogniser.ts";
import { startProgram } from "../../../support/running_program.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { runtimeVariables, startMachine, usageOf } from "./machine.ts";
import { READER_PROGRAM } from "./program_path.ts";

test("openSimDriver() reads faults anew each time", async () => {
  using folder = temporaryFolder();
  const directory = `${folder.path}/server`;
  initSimServer(directory, { gpus: 1 });
  using driver = await openSimDriver(directory);
  const actionOf = () => driver.read({ withUtilization: false }).gpus[0]?.recoveryAction;

  assert.deepEqual(actionOf(), { ok: true, value: "none" });
  initSimServer(directory, {
    faultsPath: folder.write("faults.toml", '[gpu.0]\nrecovery-action = "reboot"'),
  });
  assert.deepEqual(actionOf(), { ok: true, value: "reboot" });
});

test("openSimDriver() takes the time that the faults say", async () => {
  using folder = temporaryFolder();
  const directory = `${folder.path}/server`;
  initSimServer(directory, { faultsPath: folder.write("faults.toml", 'latency = "120ms"') });
  using driver = await openSimDriver(directory);
  const start = performance.now();
  driver.read({ withUtilization: false });
  assert.ok(performance.now() - start >= 119);
});

test("openSimDriver() never answers when the driver hangs, and dies of a signal", async () => {
  using folder = temporaryFolder();
  const directory = `${folder.path}/server`;
  initSimServer(directory, { faultsPath: folder.write("faults.toml", "hang = true") });
  await using reader = startProgram([...READER_PROGRAM, directory], { env: runtimeVariables() });
  await reader.untilOutput(/asked/);
  reader.send("SIGTERM");
  const { signal, stdout } = await reader.ended;
  assert.deepEqual([signal, stdout], ["SIGTERM", "asked\n"]);
});

/** Runs a program in a PID namespace of its own. */
const NESTED = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"] as const;

test("openSimDriver() shows a job in another PID namespace under the pid that it has here", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--bytes", "0"], {}, NESTED);
  assert.equal(job.ready, 1);
  const [[used, rows] = []] = await machine.memory();
  assert.equal(used, 518);
  assert.deepEqual(Object.values(rows ?? {}), [518]);
  assert.notEqual(Number(Object.keys(rows ?? {})[0]), 1);
});

test("openSimDriver() leaves rows of processes out that are not visible from its PID namespace, and no memory", async () => {
  await using machine = startMachine();
  await machine.hold(["--bytes", "0"]);
  await using reader = startProgram([...NESTED, ...READER_PROGRAM, machine.directory], {
    env: runtimeVariables(),
  });
  const { stdout, stderr } = await reader.ended;
  const report: DriverReport = JSON.parse(stdout.split("\n")[1] ?? stderr);
  assert.deepEqual(usageOf(report), [[518, {}], [3, {}]]);
  assert.deepEqual(report.gpus.map(({ processList }) => processList.state), ["known", "known"]);
});

test("simRecogniser() knows the nodes of its server by file and by path, and nothing else", () => {
  using folder = temporaryFolder();
  initSimServer(folder.path, { gpus: 2 });
  const recogniser = simRecogniser(folder.path);
  const ofFile = (path: string) => {
    const { dev, ino } = statSync(path);
    return recogniser.ofFile(dev, ino);
  };
  const nodes = ["nvidia1", "nvidiactl", "nvidia-uvm"].map((name) => `${folder.path}/dev/${name}`);
  const known = [{ kind: "gpu", minor: deviceMinor(1) }, { kind: "control" }, { kind: "uvm" }];

  assert.deepEqual(nodes.map(ofFile), known);
  assert.deepEqual(nodes.map(recogniser.ofPath), known);
  assert.deepEqual(recogniser.ofPath(`${folder.path}/dev/nvidia1 (deleted)`), known[0]);
  assert.deepEqual([ofFile(`${folder.path}/server.json`), ofFile("/dev/null")], [undefined, undefined]);
  assert.deepEqual([recogniser.ofPath("/dev/nvidia0"), recogniser.ofDevice(195, 0)], [undefined, undefined]);
});
