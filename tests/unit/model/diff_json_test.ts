import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { diffSnapshots } from "../../../lib/analysis/diff_snapshots.ts";
import { encodeJobDiff, encodeSnapshotDiff } from "../../../lib/model/diff_json.ts";
import { encodeRecordingHead, encodeSample } from "../../../lib/model/job_sample_json.ts";
import { MIB, sampleOf, tell, TOLERANCE } from "../../support/job_story.ts";
import { type MachineSpec, observe, type ProcessSpec, uuidOf } from "../../support/machine.ts";

const worker: ProcessSpec = { pid: 900, touch: "context", mib: 4096 };
const IDLE: MachineSpec = { processes: [] };

test("encodeJobDiff() writes what scripts rely on", () => {
  const json = encodeJobDiff(tell({
    before: IDLE,
    run: [[100, { processes: [worker] }]],
    settle: [[1085, IDLE]],
    after: IDLE,
    job: [900],
    alive: [950],
  }));

  assert.deepEqual(json, {
    schema: "gpuctl.diff/1",
    kind: "job",
    takenAt: "2026-11-30T12:00:00.000Z",
    source: "nvml",
    simulated: false,
    command: "python3 train.py",
    status: 0,
    signal: null,
    timedOut: false,
    durationMs: 1000,
    settleMs: 50,
    settleEnd: "settled",
    intervalMs: 100,
    samples: 2,
    missedSamples: 0,
    before: null,
    after: null,
    verdict: "released",
    gpus: [{
      index: 0,
      uuid: uuidOf(0),
      name: "NVIDIA H200",
      beforeBytes: 0,
      peakBytes: 4096 * MIB,
      jobPeakBytes: 4096 * MIB,
      afterBytes: 0,
      leftBytes: 0,
      othersBytes: 0,
      releaseMs: 85,
      verdict: "released",
      heldBy: [],
      movedTo: [],
      releaseBytesPerSecond: null,
      releaseWindowMs: null,
      remainingMs: null,
    }],
    leftovers: [],
    processes: [{
      pid: 900,
      startTicks: 9000,
      command: "python3 train.py",
      name: "python3",
      peakBytes: { [uuidOf(0)]: 4096 * MIB },
    }],
    lingerers: [{ pid: 950, startTicks: 9500, name: "python3" }],
    cleanup: null,
    changes: [],
    notes: [],
    problems: [],
  });
});

test("encodeJobDiff() writes null for what is missing, and its reason among the problems", () => {
  const unread: MachineSpec = { processes: [], gpus: [{ list: "no-permission" }] };
  const json = encodeJobDiff(tell({ before: unread, after: unread, ranForMs: 20 }));
  const [gpu] = json.gpus;
  const reasons = Object.fromEntries(json.problems.map(({ at, why }) => [at, why]));

  assert.deepEqual([gpu?.peakBytes, gpu?.leftBytes, gpu?.othersBytes, gpu?.verdict], [
    null,
    null,
    null,
    "unknown",
  ]);
  assert.deepEqual(reasons, {
    null: "no-permission",
    "/gpus/0/verdict": "no-permission",
    "/gpus/0/peakBytes": "not-reported",
    "/gpus/0/jobPeakBytes": "not-reported",
    "/gpus/0/leftBytes": "no-permission",
    "/gpus/0/othersBytes": "no-permission",
  });
});

test("encodeJobDiff() writes a signal by its name", () => {
  const json = encodeJobDiff({ ...tell({ before: IDLE, after: IDLE }), end: { kind: "killed", signal: 9 } });

  assert.deepEqual([json.status, json.signal], [null, "SIGKILL"]);
});

test("encodeJobDiff() writes a leftover as a holder, with why it is named", () => {
  const json = encodeJobDiff(tell({
    before: IDLE,
    run: [[100, { processes: [worker] }]],
    after: { processes: [worker] },
    job: [900],
    alive: [900],
  }));
  const [leftover] = json.leftovers;

  assert.deepEqual([leftover?.pid, leftover?.startTicks, leftover?.ofJob, leftover?.why], [
    900,
    9000,
    true,
    "holds 4 GiB on GPU 0",
  ]);
  assert.deepEqual(leftover?.devices.map(({ contextBytes }) => contextBytes), [4096 * MIB]);
});

test("encodeSnapshotDiff() has the same keys as a job's, null where only a job has a value", () => {
  const named = (name: string, machine: MachineSpec) => ({ name, snapshot: attribute(observe(machine)) });
  const json = encodeSnapshotDiff(
    diffSnapshots(named("a.json", IDLE), named("now", { processes: [worker] }), TOLERANCE),
  );

  assert.deepEqual(
    Object.keys(json).sort(),
    Object.keys(encodeJobDiff(tell({ before: IDLE, after: IDLE }))).sort(),
  );
  assert.deepEqual([json.kind, json.command, json.status, json.verdict], ["snapshots", null, null, "held"]);
  assert.deepEqual(json.changes, [{
    kind: "new",
    gpu: uuidOf(0),
    pid: 900,
    startTicks: 9000,
    command: "python3.12 train.py",
    name: "python3.12",
    beforeBytes: 0,
    afterBytes: 4096 * MIB,
  }]);
  assert.deepEqual(json.problems, []);
});

test("encodeSample() writes each GPU with its processes, and which are the job's", () => {
  const sample = sampleOf([1234.4, { processes: [worker, { pid: 300, touch: "context", mib: 5 }] }]);

  assert.deepEqual(encodeSample({ phase: "run", ...sample, isJobs: (id) => id === 900 }), {
    elapsedMs: 1234,
    phase: "run",
    gpus: [{
      gpu: uuidOf(0),
      usedBytes: 4101 * MIB,
      processList: "known",
      processes: [{ pid: 300, ofJob: false, bytes: 5 * MIB }, { pid: 900, ofJob: true, bytes: 4096 * MIB }],
    }],
  });
});

test("encodeSample() says why there is no sample", () => {
  const sample = { phase: "run" as const, ...sampleOf([100, "no answer"]), isJobs: () => false };

  assert.deepEqual(encodeSample(sample), { elapsedMs: 100, phase: "run", gpus: null, why: "timed-out" });
});

test("encodeRecordingHead() names the format and the command", () => {
  assert.deepEqual(encodeRecordingHead(["sh", "-c", "exit 1"], "2026-11-30T12:00:00.000Z"), {
    schema: "gpuctl.samples/1",
    startedAt: "2026-11-30T12:00:00.000Z",
    command: "sh -c 'exit 1'",
  });
});
