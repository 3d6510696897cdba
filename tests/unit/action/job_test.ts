import assert from "node:assert/strict";
import { test } from "node:test";
import { type JobOptions, runJob } from "../../../lib/action/job.ts";
import { GpuctlError } from "../../../lib/core/errors.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import type { JobDiff } from "../../../lib/model/diff.ts";
import type { Observation } from "../../../lib/model/observation.ts";
import type { JobSample } from "../../../lib/model/job_sample.ts";
import {
  COMMAND_PID,
  type FakeJobWorld,
  jobWorld,
  type JobWorldSpec,
  OWN_PID,
} from "../../support/job_world.ts";
import { assertDocument } from "../../support/documents.ts";
import { MIB } from "../../support/job_story.ts";
import { type MachineSpec, observe, type ProcessSpec, uuidOf } from "../../support/machine.ts";

const IDLE: MachineSpec = { processes: [] };
const command = (more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  pid: COMMAND_PID,
  parent: OWN_PID,
  touch: "context",
  mib: 4096,
  ...more,
});
const atWork: MachineSpec = { processes: [command()] };

type Asked = Partial<JobOptions> & { readonly killLeftovers?: boolean };

function optionsFor(world: FakeJobWorld, { killLeftovers, ...more }: Asked = {}): JobOptions {
  return {
    command: ["python3", "train.py"],
    source: { kind: "nvml" },
    look: { within: milliseconds(5000), withUtilization: false },
    interval: milliseconds(100),
    settle: milliseconds(10_000),
    tolerance: bytes(MIB),
    grace: milliseconds(10_000),
    timeout: undefined,
    audit: killLeftovers ? world.audit : undefined,
    onSample: undefined,
    prepare: ({ gpus }) => ({ gpus: new Set(gpus.map(({ gpu }) => gpu.uuid)), variables: {} }),
    ...more,
  };
}

async function run(
  spec: JobWorldSpec,
  more: Asked = {},
): Promise<{ readonly diff: JobDiff; readonly world: FakeJobWorld }> {
  const world = jobWorld(spec);
  const diff = await runJob(optionsFor(world, more), world);
  if ("message" in diff) throw new Error(diff.message);
  return { diff, world };
}

test("runJob() samples a job and says released in the time it took", async () => {
  const samples: JobSample[] = [];
  const { diff } = await run({
    endsAtMs: 1000,
    machine: (at) => at < 1090 ? atWork : IDLE,
  }, { onSample: (sample) => samples.push(sample) });

  const gpu = diff.gpus[0];
  assert.deepEqual(gpu?.verdict, { kind: "released", in: known(95) });
  assert.deepEqual([diff.ranFor, diff.settleEnd, diff.end], [1000, "settled", { kind: "exited", status: 0 }]);
  assert.deepEqual(samples.map(({ phase, at }) => [phase, at]), [
    // Close together at first, then at the interval.
    ...[0, 20, 60, 140, 240, 340, 440, 540, 640, 740, 840, 940].map((at) => ["run", at]),
    ["settle", 1000],
    ["settle", 1020],
    ["settle", 1050],
    ["settle", 1095],
  ]);
  assert.deepEqual(diff.processes.map(({ pid, peaks }) => [pid, [...peaks]]), [
    [COMMAND_PID, [[uuidOf(0), known(4096 * MIB)]]],
  ]);
});

test("runJob() does not start a command when the driver gives no answer", async () => {
  const world = jobWorld({ machine: () => "no answer" });

  await assert.rejects(runJob(optionsFor(world), world), (error) => {
    assert.ok(error instanceof GpuctlError);
    assert.equal(
      error.message,
      "Cannot look before the command as the driver gave no answer: no answer in time",
    );
    assert.equal(error.hint, "the command was not started; gpuctl snapshot says what can be seen");
    return true;
  });
  assert.deepEqual(world.started, []);
});

test("runJob() does not start a command when only the kernel names the GPUs", async () => {
  const silent: Observation = {
    ...observe(IDLE),
    source: "proc",
    problems: [{
      subject: "driver",
      reason: absent("timed-out", "5 s"),
      message: "The driver gave no answer",
    }],
  };
  const world = { ...jobWorld({ machine: () => IDLE }), observe: () => Promise.resolve(silent) };

  await assert.rejects(runJob(optionsFor(world), world), {
    message: "Cannot look before the command as the driver gave no answer: no answer in time (5 s)",
  });
});

test("runJob() gives the reason why a command cannot be started, and looks no further", async () => {
  const failsToStart = {
    kind: "not-found",
    message: 'Cannot run "trian": there is no such file or command',
  } as const;
  const world = jobWorld({ machine: () => IDLE, failsToStart });

  assert.deepEqual(await runJob(optionsFor(world), world), failsToStart);
  assert.equal(world.samples, 1);
});

test("runJob() starts the command with the variables that were prepared", async () => {
  const { world } = await run({ endsAtMs: 50, machine: () => ({ processes: [command({ mib: 0 })] }) }, {
    prepare: () => ({ gpus: new Set(), variables: { CUDA_DEVICE_ORDER: "PCI_BUS_ID" } }),
  });

  assert.deepEqual(world.started, [{
    command: ["python3", "train.py"],
    variables: { CUDA_DEVICE_ORDER: "PCI_BUS_ID" },
  }]);
});

test("runJob() knows a child that escaped, and that it holds what is left", async () => {
  const escaped: ProcessSpec = { pid: 950, parent: OWN_PID, session: 950, touch: "context", mib: 600 };
  const { diff } = await run({
    endsAtMs: 500,
    machine: (at) => ({ processes: at < 500 ? [command(), escaped] : [escaped] }),
  });

  assert.equal(diff.settleEnd, "stalled");
  assert.deepEqual(diff.gpus[0]?.verdict, { kind: "held", by: [950] });
  assert.deepEqual(diff.leftovers.map(({ holder, isJobs }) => [holder.pid, isJobs]), [[950, true]]);
});

test("runJob() waits for loader workers that leave by themselves after 6 s, and calls nothing a leak", async () => {
  const worker: ProcessSpec = { pid: 910, parent: OWN_PID, touch: "inherited", group: COMMAND_PID };
  const { diff } = await run({
    endsAtMs: 500,
    machine: (at) => {
      if (at < 500) return { processes: [command(), worker] };
      return at < 6500 ? { processes: [worker], dead: [{ pid: COMMAND_PID, mib: 4096 }] } : IDLE;
    },
  });

  assert.equal(diff.verdict, "released");
  assert.equal(diff.settleEnd, "settled");
});

test("runJob() leaves somebody else's process alone, however much it grew", async () => {
  const stranger = (mib: number): ProcessSpec => ({ pid: 300, touch: "context", mib });
  const { diff } = await run({
    endsAtMs: 1000,
    machine: (at) => ({ processes: at < 1000 ? [stranger(1000 + at), command()] : [stranger(9000)] }),
  });

  assert.equal(diff.verdict, "released");
  assert.deepEqual(diff.gpus[0]?.others, known(8000 * MIB));
  assert.deepEqual(diff.processes.map(({ pid }) => pid), [COMMAND_PID]);
});

test("runJob() sends SIGTERM to the command and to what escaped when the time is up, and to nobody else", async () => {
  const escaped: ProcessSpec = { pid: 950, parent: OWN_PID, touch: "context", mib: 600 };
  const child: ProcessSpec = { pid: 960, parent: COMMAND_PID };
  const stranger: ProcessSpec = { pid: 300, touch: "context" };
  const { diff, world } = await run({
    diesOf: { signal: "SIGTERM", afterMs: 200 },
    machine: (at) => ({ processes: at < 1200 ? [stranger, command(), child, escaped] : [stranger] }),
  }, { timeout: milliseconds(1000) });

  assert.deepEqual(world.signals, [
    { atMs: 1000, pid: COMMAND_PID, signal: "SIGTERM" },
    { atMs: 1000, pid: 950, signal: "SIGTERM" },
  ]);
  assert.equal(diff.hasTimedOut, true);
  assert.equal(diff.verdict, "released");
});

test("runJob() continues a stopped command so that it can act on SIGTERM", async () => {
  const { world } = await run({
    diesOf: { signal: "SIGCONT", afterMs: 10 },
    machine: (at) => at < 1010 ? { processes: [command({ state: "T" })] } : IDLE,
  }, { timeout: milliseconds(1000) });

  assert.deepEqual(world.signals.map(({ signal }) => signal), ["SIGTERM", "SIGCONT"]);
});

test("runJob() kills everything of the job that is left after the grace", async () => {
  const child: ProcessSpec = { pid: 960, parent: COMMAND_PID, touch: "context", mib: 10 };
  const { diff, world } = await run({
    diesOf: { signal: "SIGKILL", afterMs: 20 },
    machine: (_, signals) => ({
      processes: [command(), child].filter(({ pid }) =>
        !signals.some((sent) => sent.pid === pid && sent.signal === "SIGKILL")
      ),
    }),
  }, { timeout: milliseconds(1000), grace: milliseconds(2000) });

  assert.deepEqual(world.signals, [
    { atMs: 1000, pid: COMMAND_PID, signal: "SIGTERM" },
    { atMs: 3000, pid: COMMAND_PID, signal: "SIGKILL" },
    { atMs: 3000, pid: 960, signal: "SIGKILL" },
  ]);
  assert.deepEqual(diff.end, { kind: "killed", signal: 9 });
});

test("runJob() gives what escaped its whole grace before it waits for the memory", async () => {
  const escaped: ProcessSpec = { pid: 950, parent: OWN_PID, touch: "context", mib: 600 };
  const { diff, world } = await run({
    diesOf: { signal: "SIGTERM", afterMs: 10 },
    machine: (at, signals) => {
      const isKilled = signals.some(({ pid, signal }) => pid === 950 && signal === "SIGKILL");
      return { processes: [...(at < 1010 ? [command()] : []), ...(isKilled ? [] : [escaped])] };
    },
  }, { timeout: milliseconds(1000), grace: milliseconds(2000) });

  assert.deepEqual(world.signals.at(-1), { atMs: 3000, pid: 950, signal: "SIGKILL" });
  assert.equal(diff.verdict, "released");
  assert.ok(diff.settledFor < 100, `waited ${diff.settledFor} ms`);
});

test("runJob() passes signals on to the command, but not those that the terminal sent it as well", async () => {
  const { world } = await run({
    endsAtMs: 1000,
    machine: (at) => at < 1000 ? atWork : IDLE,
    caught: [
      { atMs: 300, signal: "SIGUSR1", isFromTerminal: false },
      { atMs: 400, signal: "SIGINT", isFromTerminal: true },
      { atMs: 500, signal: "SIGINT", isFromTerminal: false },
    ],
  });

  assert.deepEqual(world.signals, [
    { atMs: 300, pid: COMMAND_PID, signal: "SIGUSR1" },
    { atMs: 500, pid: COMMAND_PID, signal: "SIGINT" },
  ]);
});

test("runJob() stops waiting for the memory at a signal once the command has ended", async () => {
  const { diff, world } = await run({
    endsAtMs: 500,
    machine: (at) => at < 500 ? atWork : { processes: [], gpus: [{ usedMib: 4096 }] },
    caught: [{ atMs: 900, signal: "SIGINT", isFromTerminal: true }],
  });

  assert.equal(diff.settleEnd, "interrupted");
  assert.equal(diff.settledFor, 400);
  assert.deepEqual(world.signals, []);
});

test("runJob() ends the job's own leftovers when asked, records it first, and reads the memory again", async () => {
  const escaped: ProcessSpec = { pid: 950, parent: OWN_PID, touch: "context", mib: 600 };
  const stranger: ProcessSpec = { pid: 300, touch: "context", mib: 70 };
  const { diff, world } = await run({
    endsAtMs: 500,
    machine: (at, signals) => {
      const isEnded = signals.some(({ pid }) => pid === 950);
      return { processes: [stranger, ...(at < 500 ? [command()] : []), ...(isEnded ? [] : [escaped])] };
    },
  }, { killLeftovers: true });

  assert.deepEqual(world.signals.map(({ pid, signal }) => [pid, signal]), [[950, "SIGTERM"]]);
  assert.deepEqual(diff.gpus[0]?.verdict, { kind: "held", by: [950] });
  assert.deepEqual(diff.cleanup?.acts, [{ pid: 950, startTicks: 9500, outcome: "ended", signal: "SIGTERM" }]);
  assert.deepEqual(diff.cleanup?.freed, known(600 * MIB));
  for (const record of world.audit.records) assertDocument(record);
  const acts = world.audit.records.map((
    { event, act },
  ) => [event, act?.pid, act?.outcome, act?.signal, act?.bytesBefore]);
  assert.deepEqual(acts, [
    ["intent", 950, "planned", null, 600 * MIB],
    ["outcome", 950, "ended", "SIGTERM", 600 * MIB],
  ]);
});

test("runJob() ends its own leftover and leaves an importer beside it alone", async () => {
  const two = { gpus: [{}, {}] };
  const server = (mib: number): ProcessSpec => ({ pid: 300, touch: "context", mib });
  const escaped: ProcessSpec = { pid: 950, parent: OWN_PID, touch: "context", mib: 600, on: [1] };
  const { diff, world } = await run({
    endsAtMs: 500,
    machine: (at, signals) => ({
      ...two,
      processes: [
        server(at < 500 ? 518 : 4096),
        ...(at < 500 ? [command()] : []),
        ...(signals.some(({ pid }) => pid === 950) ? [] : [escaped]),
      ],
    }),
  }, { killLeftovers: true });

  assert.deepEqual(diff.gpus.map(({ verdict }) => verdict.kind), ["moved", "held"]);
  assert.deepEqual(world.signals.map(({ pid }) => pid), [950]);
});

test("runJob() never ends an importer that is not the job's", async () => {
  const server = (mib: number): ProcessSpec => ({ pid: 300, touch: "context", mib });
  const { diff, world } = await run({
    endsAtMs: 500,
    machine: (at) => ({ processes: at < 500 ? [server(518), command()] : [server(4096)] }),
  }, { killLeftovers: true });

  assert.equal(diff.verdict, "moved");
  assert.deepEqual(world.signals, []);
  assert.equal(diff.cleanup, undefined);
});

test("runJob() explains that JAX keeps its memory to the end", async () => {
  const { diff } = await run({ endsAtMs: 10_000, machine: (at) => at < 10_000 ? atWork : IDLE });

  assert.equal(diff.verdict, "released");
  assert.match(
    diff.notes.join("\n"),
    /^PID 900 kept its peak of 4 GiB until it ended\. That is no leak: JAX /,
  );
});

test("runJob() says how many samples had no answer", async () => {
  const { diff } = await run({
    endsAtMs: 1000,
    machine: (at) => at > 250 && at < 450 ? "no answer" : at < 1000 ? atWork : IDLE,
  });

  assert.equal(diff.missedSamples, 2);
  assert.deepEqual(diff.notes, ["2 samples had no answer: a peak may have been missed."]);
});

test("runJob() says unknown when the driver gives no answer after the job", async () => {
  const { diff } = await run({ endsAtMs: 1000, machine: (at) => at < 1000 ? atWork : "no answer" });

  assert.equal(diff.verdict, "unknown");
  assert.equal(diff.settleEnd, "unreadable");
});

test("runJob() says once that it waits for the memory, for how long at most, and not when it is back at once", async () => {
  const waits = async (goneAtMs: number) => {
    const told: [string, number][] = [];
    await run({
      endsAtMs: 1000,
      machine: (at) => at < goneAtMs ? atWork : IDLE,
    }, { onWait: (purpose, atMost) => told.push([purpose, atMost]) });
    return told;
  };

  assert.deepEqual(await waits(1090), []);
  assert.deepEqual(await waits(4000), [["the memory to come back", 10_000]]);
});
