import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { pid } from "../../../../lib/core/ids.ts";
import { absent } from "../../../../lib/core/reading.ts";
import { clockTicks, milliseconds } from "../../../../lib/core/units.ts";
import type { ProcStat } from "../../../../lib/model/process.ts";
import type { StartSmi } from "../../../../lib/source/smi/child.ts";
import { readSmiReport, type SmiOptions, SmiSource } from "../../../../lib/source/smi/live.ts";
import { parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { readSmiFixture } from "../../../support/smi_fixtures.ts";
import { smiScript } from "../../../support/smi_script.ts";
import { until } from "../../../support/until.ts";

const IDLE = readSmiFixture("idle.xml");
const XML_NOT_READ =
  "The full report could not be read: GPUs and processes were asked for one after the other";
const A = "GPU-0000000a-0000-0000-0000-000000000000";

/** A moment from now that no healthy answer needs, also on a busy machine. */
function soon(): ReturnType<typeof milliseconds> {
  return milliseconds(performance.now() + 60_000);
}

function isRunning(process: number): boolean {
  if (!existsSync(`/proc/${process}/stat`)) return false;
  return !/\) [ZX] /.test(readFileSync(`/proc/${process}/stat`, "utf8"));
}

test("readSmiReport() gives what the XML says", async () => {
  using smi = smiScript({ "-q -x": { out: IDLE } });
  const look = await readSmiReport({ ...smi.options, deadline: soon() });
  const { report, problems } = parseSmiText(IDLE);
  assert.deepEqual([look, smi.calls()], [{ report, problems }, ["-q -x"]]);
});

test("SmiSource.sample() gives the report alone", async () => {
  using smi = smiScript({ "-q -x": { out: IDLE } });
  await using source = new SmiSource(smi.options);
  const report = await source.sample({ within: milliseconds(5000), withUtilization: true });
  assert.deepEqual(report, parseSmiText(IDLE).report);
});

test("readSmiReport() gives the refusal as the reason, whichever stream it is on", async () => {
  for (const stream of ["out", "err"] as const) {
    using smi = smiScript({ "-q -x": { [stream]: readSmiFixture("refusal_not_loaded.txt"), status: 9 } });
    const { report } = await readSmiReport({ ...smi.options, deadline: soon() });
    assert.deepEqual(
      report,
      absent(
        "failed",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
      ),
    );
  }
});

test("readSmiReport() keeps an answer beside a status that is not 0, and tells the status", async () => {
  using smi = smiScript({ "-q -x": { out: IDLE, status: 14 } });
  const { report, problems } = await readSmiReport({ ...smi.options, deadline: soon() });
  assert.deepEqual([report, problems], [parseSmiText(IDLE).report, [{
    subject: "nvidia-smi",
    reason: absent("failed", "nvidia-smi ended with status 14: a GPU's infoROM is corrupt"),
    message: "nvidia-smi answered and still reported a failure",
  }]]);
});

test("readSmiReport() explains a status without a word", async () => {
  using smi = smiScript({
    "-q -x": { status: 15 },
    "--query-gpu": { status: 15 },
    "--query-compute-apps": { status: 15 },
  });
  const { report } = await readSmiReport({ ...smi.options, deadline: soon() });
  assert.deepEqual(
    report,
    absent("lost", "nvidia-smi ended with status 15: a GPU has fallen off the bus or cannot be reached"),
  );
});

test("readSmiReport() says that nvidia-smi cannot be started", async () => {
  using smi = smiScript({});
  const options: SmiOptions = { ...smi.options, place: { path: `${smi.folder.path}/missing` } };
  const { report } = await readSmiReport({ ...options, deadline: soon() });
  assert.match(report.ok ? "" : report.detail ?? "", /\/missing cannot be started: .*ENOENT/);
});

test("readSmiReport() gives up at the deadline and leaves no child behind", async () => {
  using smi = smiScript({ "-q -x": { before: 'echo $$ > "$DIR/pid"; exec sleep 1000' } });
  const look = readSmiReport({ ...smi.options, deadline: milliseconds(performance.now() + 2000) });
  const child = Number(
    await until(
      "the child's pid",
      () => existsSync(`${smi.folder.path}/pid`) && readFileSync(`${smi.folder.path}/pid`, "utf8").trim(),
    ),
  );
  assert.deepEqual(await look, {
    report: absent("timed-out", "nvidia-smi gave no answer before the deadline"),
    problems: [],
  });
  await until("the child to be gone", () => !isRunning(child));
});

test("readSmiReport() starts nothing after the deadline", async () => {
  using smi = smiScript({ "-q -x": { out: IDLE } });
  const { report } = await readSmiReport({ ...smi.options, deadline: milliseconds(performance.now() - 1) });
  assert.deepEqual([report, smi.calls()], [
    absent("timed-out", "nvidia-smi gave no answer before the deadline"),
    [],
  ]);
});

test("readSmiReport() does not wait for whoever else holds the pipes", async () => {
  using smi = smiScript({ "-q -x": { out: IDLE, before: '(sleep 1000 & echo $! > "$DIR/pid")' } });
  const { report } = await readSmiReport({ ...smi.options, deadline: soon() });
  process.kill(Number(readFileSync(`${smi.folder.path}/pid`, "utf8")), "SIGKILL");
  assert.deepEqual(report, parseSmiText(IDLE).report);
});

test("readSmiReport() runs nvidia-smi in the C locale and UTC, without this program's environment", async () => {
  using smi = smiScript({ "-q -x": { out: IDLE, before: '/usr/bin/env > "$DIR/env"; pwd >> "$DIR/env"' } });
  const place = { ...smi.options.place, libraries: "/usr/local/nvidia/lib64" };
  await readSmiReport({ ...smi.options, place, deadline: soon() });
  const lines = readFileSync(`${smi.folder.path}/env`, "utf8").trim().split("\n");
  // The shell that plays nvidia-smi sets these by itself.
  const own = lines.filter((line) => !/^(?:PWD|OLDPWD|SHLVL|_)=/.test(line));
  assert.deepEqual(own.toSorted(), [
    "/",
    "LC_ALL=C",
    "LD_LIBRARY_PATH=/usr/local/nvidia/lib64",
    "PATH=/usr/bin:/bin",
    "TZ=UTC",
  ]);
});

test("readSmiReport() asks by queries where the XML cannot be read, with the fields that this version knows", async () => {
  const known = ["index", "uuid", "memory.used", "memory.total", "driver_version"];
  using smi = smiScript({
    "-q -x": { out: IDLE.replace("NVIDIA H200", "a & b") },
    "--query-gpu": { out: 'Field "pci.bus_id" is not a valid field to query.\n', status: 2 },
    "--help-query-gpu": { out: known.map((name) => `"${name}" or "old_${name}"\nWhat it is.\n`).join("\n") },
    "--query-gpu=index,uuid,driver_version,memory.total,memory.used --": {
      out:
        `index, uuid, driver_version, memory.total [MiB], memory.used [MiB]\n0, ${A}, 352.79, 4095 MiB, 531 MiB\n`,
    },
    "--query-compute-apps": {
      out: `gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n${A}, 41, ./x, 10 MiB\n`,
    },
  });
  await using source = new SmiSource(smi.options);
  const { report, problems } = await source.read(soon());
  assert.deepEqual(
    report,
    parseSmiText(
      `index, uuid, driver_version, memory.total [MiB], memory.used [MiB]\n0, ${A}, 352.79, 4095 MiB, 531 MiB\n\n` +
        `gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n${A}, 41, ./x, 10 MiB\n`,
    ).report,
  );
  assert.deepEqual(problems.map(({ message }) => message), [XML_NOT_READ]);
  await source.read(soon());
  assert.deepEqual(smi.calls().filter((call) => call.startsWith("--")).map((call) => call.slice(0, 24)), [
    "--query-gpu=index,uuid,p",
    "--help-query-gpu",
    "--query-gpu=index,uuid,d",
    "--query-compute-apps=gpu",
    "--query-gpu=index,uuid,d",
    "--query-compute-apps=gpu",
  ]);
});

test("readSmiReport() learns the fields from the refusals where the help says nothing", async () => {
  const last =
    "index,uuid,pci.bus_id,name,driver_version,memory.total,memory.used,memory.free,utilization.gpu,persistence_mode,compute_mode,display_active,mig.mode.current,mig.mode.pending";
  using smi = smiScript({
    "-q -x": { out: "<nvidia_smi_log>" },
    "--query-gpu": { out: 'Field "gpu_recovery_action" is not a valid field to query.\n', status: 2 },
    [`--query-gpu=${last},memory.reserved --`]: {
      out: 'Field "memory.reserved" is not a valid field to query.\n',
      status: 2,
    },
    [`--query-gpu=${last} --`]: { out: "index, memory.used [MiB]\n0, 5 MiB\n" },
    "--query-compute-apps": { out: "", status: 2 },
  });
  const { report } = await readSmiReport({ ...smi.options, deadline: soon() });
  assert.deepEqual(report, parseSmiText("index, memory.used [MiB]\n0, 5 MiB\n").report);
});

test("readSmiReport() asks the list for MIG names that the XML leaves out", async () => {
  const xml = readSmiFixture("xml_535_v12_mig.xml");
  const list =
    "GPU 2: NVIDIA A100 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n  MIG 2g.20gb     Device  0: (UUID: MIG-0000000c-0000-0000-0000-000000000000)\n";
  using smi = smiScript({ "-q -x": { out: xml }, "-L": { out: list } });
  const { report } = await readSmiReport({ ...smi.options, deadline: soon() });
  const [gpu] = report.ok ? report.value.gpus : [];
  assert.deepEqual([gpu?.index, gpu?.migInstances.ok && gpu.migInstances.value.map(({ uuid }) => uuid)], [2, [
    "MIG-0000000c-0000-0000-0000-000000000000",
    "mig:GPU-00000000-0000-0000-0000-000000000000/4/0",
  ]]);
});

test("readSmiReport() gives up on a child that writes without end", async () => {
  using smi = smiScript({ "-q -x": { before: "exec yes" } });
  const { report } = await readSmiReport({ ...smi.options, deadline: soon() });
  assert.deepEqual(report, absent("implausible", "nvidia-smi wrote more than any machine has to say"));
});

test("readSmiReport() waits for what is still in the pipes when the child is gone", async () => {
  using smi = smiScript({});
  let text = "";
  const start: StartSmi = () => ({
    pid: 1,
    ended: Promise.resolve({ kind: "exit", status: 0, signal: null }),
    drained: new Promise((settle) => setImmediate(() => settle(void (text = IDLE)))),
    overflowed: new Promise(() => {}),
    text: () => text,
    kill: () => {},
    release: () => {},
  });
  const { report } = await readSmiReport({ ...smi.options, start, deadline: soon() });
  assert.deepEqual(report, parseSmiText(IDLE).report);
});

/** A child that nothing ends, as one that waits in the driver. */
function stuckStart(started: string[]): StartSmi {
  return (_place, words) => {
    started.push(words.join(" "));
    return {
      pid: 4242,
      ended: new Promise(() => {}),
      drained: new Promise(() => {}),
      overflowed: new Promise(() => {}),
      text: () => "",
      kill: () => void started.push("kill"),
      release: () => void started.push("release"),
    };
  };
}

const STUCK: ProcStat = {
  pid: pid(4242),
  startTicks: clockTicks(100),
  comm: "nvidia-smi",
  state: "D",
  parentPid: 1,
  processGroup: 1,
  session: 1,
  terminal: 0,
  threads: 1,
  cpuTicks: clockTicks(0),
  isKernelThread: false,
  isExiting: false,
};

test("SmiSource names a child that not even SIGKILL ends, and starts no second while it lives", async () => {
  using smi = smiScript({ "-q -x": { out: IDLE } });
  let alive: ProcStat | undefined = STUCK;
  const started: string[] = [];
  const options: SmiOptions = { ...smi.options, processes: { findProcess: () => alive } };
  const source = new SmiSource({ ...options, start: stuckStart(started) });
  const reason = absent(
    "timed-out",
    "process 4242, asked before, has been stuck in the driver since 2026-11-30T08:00:00.000Z",
  );
  const first = await source.read(milliseconds(performance.now() + 20));
  const second = await source.read(soon());
  // Another program finds the record.
  const third = await readSmiReport({ ...options, deadline: soon() });
  assert.deepEqual([first.report, second.report, third.report], [reason, reason, reason]);
  assert.deepEqual([started, smi.calls()], [["-q -x", "kill", "release"], []]);
  alive = undefined;
  const fourth = await readSmiReport({ ...options, deadline: soon() });
  assert.deepEqual(fourth.report, parseSmiText(IDLE).report);
});

test("SmiSource keeps what the last sample left out or doubted, until the next", async () => {
  using smi = smiScript({
    "-q -x": { out: IDLE, err: "WARNING: infoROM is corrupted at gpu 0000:61:00.0", status: 14 },
  });
  await using source = new SmiSource(smi.options);
  assert.deepEqual(source.problems, []);
  await source.sample({ within: milliseconds(5000), withUtilization: false });
  assert.deepEqual(source.problems.map(({ subject, reason }) => [subject, reason]), [
    ["GPU 00000000:61:00.0", absent("failed", "WARNING: infoROM is corrupted at gpu 0000:61:00.0")],
    ["nvidia-smi", absent("failed", "nvidia-smi ended with status 14: a GPU's infoROM is corrupt")],
  ]);
  smi.folder.write("0.err", "");
  await source.sample({ within: milliseconds(5000), withUtilization: false });
  assert.deepEqual(source.problems.length, 1);
});
