import assert from "node:assert/strict";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import type { GpuDiff, JobDiff } from "../../../lib/model/diff.ts";
import type { Gpu } from "../../../lib/model/gpu.ts";
import type { Snapshot } from "../../../lib/model/snapshot.ts";
import { type MachineSpec, type ProcessSpec, uuidOf } from "../../support/machine.ts";
import { evidenceOf, GPUCTL, MIB, tell } from "../../support/job_story.ts";
import { diffJob } from "../../../lib/analysis/diff_job.ts";

const IDLE: MachineSpec = { processes: [] };
/** The job's process, at work on GPU 0. */
const worker: ProcessSpec = { pid: 900, touch: "context", mib: 4096 };
const AT_WORK: MachineSpec = { processes: [worker] };
/** Somebody else's training on the same GPU. */
const stranger = (mib: number): ProcessSpec => ({ pid: 300, touch: "context", mib });

function gpuOf(diff: JobDiff, place = 0): GpuDiff {
  const gpu = diff.gpus[place];
  assert.ok(gpu);
  return gpu;
}

function withGpu(change: (gpu: Gpu) => Partial<Gpu>): (snapshot: Snapshot) => Snapshot {
  return (snapshot) => ({
    ...snapshot,
    gpus: snapshot.gpus.map((account) => ({ ...account, gpu: { ...account.gpu, ...change(account.gpu) } })),
  });
}

test("diffJob() says released and in what time when the memory is back after the end", () => {
  const diff = tell({
    before: IDLE,
    run: [[100, AT_WORK], [200, AT_WORK]],
    settle: [[1005, AT_WORK], [1085, IDLE]],
    after: IDLE,
    job: [900],
    ranForMs: 1000,
  });

  assert.equal(diff.verdict, "released");
  assert.deepEqual(gpuOf(diff), {
    uuid: uuidOf(0),
    index: 0,
    name: known("NVIDIA H200"),
    before: known(0),
    peak: known(4096 * MIB),
    jobPeak: known(4096 * MIB),
    after: known(0),
    left: known(0),
    others: known(0),
    verdict: { kind: "released", in: known(85) },
  });
  assert.deepEqual(diff.leftovers, []);
  assert.deepEqual(diff.processes, [{
    pid: 900,
    startTicks: 9000,
    name: "python3",
    argv: known(["python3", "train.py"]),
    peaks: new Map([[uuidOf(0), known(4096 * MIB)]]),
  }]);
});

test("diffJob() says unchanged for a GPU that the job was never seen on", () => {
  const twoGpus = (processes: ProcessSpec[]): MachineSpec => ({ gpus: [{}, {}], processes });
  const diff = tell({ before: twoGpus([]), run: [[100, twoGpus([worker])]], after: twoGpus([]), job: [900] });

  assert.deepEqual(diff.gpus.map(({ verdict }) => verdict.kind), ["released", "unchanged"]);
  assert.equal(diff.verdict, "released");
});

test("diffJob() names the job's own process that still holds memory", () => {
  const orphan = { ...worker, pid: 901, mib: 600 };
  const diff = tell({
    before: IDLE,
    run: [[100, { processes: [worker, orphan] }]],
    after: { processes: [orphan] },
    job: [900, 901],
    alive: [901],
    settleEnd: "stalled",
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "held", by: [901] });
  assert.deepEqual(gpuOf(diff).left, known(600 * MIB));
  assert.deepEqual(diff.leftovers.map(({ holder, isJobs, why }) => [holder.pid, isJobs, why]), [
    [901, true, "holds 600 MiB on GPU 0"],
  ]);
  assert.deepEqual(diff.lingerers, []);
});

test("diffJob() notes a live process of the job that holds nothing, and calls it no leak", () => {
  const diff = tell({ before: IDLE, run: [[100, AT_WORK]], after: IDLE, job: [900], alive: [950] });

  assert.equal(diff.verdict, "released");
  assert.deepEqual(diff.lingerers, [{ pid: 950, startTicks: 9500, name: "python3" }]);
});

test("diffJob() names the child that inherited a dead process's memory", () => {
  const child: ProcessSpec = { pid: 910, touch: "inherited", group: 900, parent: 99_999 };
  const diff = tell({
    before: IDLE,
    run: [[100, { processes: [worker, child] }]],
    after: { processes: [GPUCTL, child], dead: [{ pid: 900, mib: 4096 }] },
    job: [900],
    alive: [910],
    settleEnd: "stalled",
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "held", by: [910] });
  assert.deepEqual(diff.leftovers.map(({ holder, why }) => [holder.class, why]), [[
    "inherited",
    "holds 4 GiB on GPU 0 that PID 900 allocated before it ended",
  ]]);
});

test("diffJob() names the memory that the job left, not that of an older ghost with the same keepers", () => {
  const child: ProcessSpec = { pid: 910, touch: "inherited", group: 900, parent: 99_999 };
  const older = { pid: 700, mib: 2048 };
  const diff = tell({
    before: { processes: [], dead: [older] },
    run: [[100, { processes: [worker, child], dead: [older] }]],
    after: { processes: [GPUCTL, child], dead: [older, { pid: 900, mib: 4096 }] },
    job: [900],
    alive: [910],
  });
  assert.match(diff.leftovers[0]?.why ?? "", /^holds 4 GiB on GPU 0 that PID 900 allocated before it ended/);
});

test("diffJob() says that nobody visible holds it when only a dead process is listed", () => {
  const diff = tell({
    before: IDLE,
    run: [[100, AT_WORK]],
    after: { processes: [], dead: [{ pid: 900, mib: 4096 }] },
    job: [900],
    settleEnd: "stalled",
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "held-by-nobody-visible", listed: [900] });
  assert.deepEqual(gpuOf(diff).left, known(4096 * MIB));
});

test("diffJob() says that nobody visible holds it when used memory stays up and nothing is listed", () => {
  const diff = tell({
    before: IDLE,
    run: [[100, AT_WORK]],
    after: { processes: [], gpus: [{ usedMib: 4096 }] },
    job: [900],
    settleEnd: "stalled",
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "held-by-nobody-visible", listed: [] });
});

test("diffJob() says moved when an importer grew by what the dead exporter had", () => {
  const server = (mib: number): ProcessSpec => ({ pid: 300, touch: "context", mib });
  const exporter: ProcessSpec = { pid: 900, touch: "context", mib: 112_300 };
  const diff = tell({
    before: { processes: [server(700)] },
    run: [[100, { processes: [server(700), exporter] }]],
    settle: [[1010, { processes: [server(112_252)] }]],
    after: { processes: [server(112_252)] },
    job: [900],
  });

  const gpu = gpuOf(diff);
  assert.deepEqual(gpu.verdict, {
    kind: "moved",
    handovers: [{ from: [900], to: 300, bytes: 111_552 * MIB }],
  });
  assert.deepEqual(gpu.left, known(111_552 * MIB));
  assert.deepEqual(gpu.others, known(0));
  assert.deepEqual(diff.leftovers.map(({ holder, isJobs, why }) => [holder.pid, isJobs, why]), [
    [300, false, "took over 109 GiB on GPU 0 from PID 900, which has ended, as CUDA IPC does"],
  ]);
});

test("diffJob() says moved when the importer is a process of the job as well", () => {
  const importer = (mib: number): ProcessSpec => ({ pid: 901, touch: "context", mib });
  const exporter: ProcessSpec = { pid: 900, touch: "context", mib: 3590 };
  const diff = tell({
    before: IDLE,
    run: [[100, { processes: [importer(518), exporter] }]],
    settle: [[1010, { processes: [importer(3590)] }]],
    after: { processes: [importer(3590)] },
    job: [900, 901],
    alive: [901],
  });

  assert.equal(gpuOf(diff).verdict.kind, "moved");
  assert.deepEqual(gpuOf(diff).left, known(3590 * MIB));
  assert.deepEqual(diff.leftovers.map(({ holder, isJobs }) => [holder.pid, isJobs]), [[901, true]]);
});

test("diffJob() tells a neighbour who grew while the job ran from the job", () => {
  const diff = tell({
    before: { processes: [stranger(1000)] },
    run: [[100, { processes: [stranger(1500), worker] }], [200, { processes: [stranger(3000), worker] }]],
    settle: [[1020, { processes: [stranger(3000)] }]],
    after: { processes: [stranger(3000)] },
    job: [900],
  });

  assert.equal(diff.verdict, "released");
  assert.deepEqual(gpuOf(diff).others, known(2000 * MIB));
  assert.deepEqual(gpuOf(diff).left, known(0));
});

test("diffJob() says changed by others for a GPU that only others used", () => {
  const diff = tell({
    before: IDLE,
    run: [[100, { processes: [stranger(500)] }]],
    after: { processes: [stranger(500)] },
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "changed-by-others" });
  assert.equal(diff.verdict, "changed-by-others");
});

test("diffJob() takes 3 MiB beside a newcomer that merely sees the GPU for the newcomer's", () => {
  const diff = tell({
    before: IDLE,
    run: [[100, AT_WORK]],
    after: { processes: [{ pid: 310, touch: "visible" }], gpus: [{ usedMib: 3 }] },
    job: [900],
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "changed-by-others" });
});

test("diffJob() takes 3 MiB beside a process of the job that still sees the GPU for what that costs", () => {
  const lingerer: ProcessSpec = { pid: 905, touch: "visible", parent: 99_999 };
  const tellWith = (usedMib: number) =>
    tell({
      before: IDLE,
      run: [[100, { processes: [worker, lingerer] }]],
      after: { processes: [lingerer], gpus: [{ usedMib }] },
      job: [900, 905],
      alive: [905],
    });
  const seen = tellWith(3);
  assert.deepEqual(gpuOf(seen).verdict, { kind: "changed-by-others" });
  assert.deepEqual([seen.leftovers, seen.lingerers.map(({ pid }) => pid)], [[], [905]]);

  const held = tellWith(700);
  assert.deepEqual(gpuOf(held).verdict, { kind: "held", by: [905] });
  assert.deepEqual(held.leftovers.map(({ why }) => why), [
    "has GPU 0 mapped, where memory is charged to no process",
  ]);
});

test("diffJob() does not say whose unlisted memory is when a neighbour changed meanwhile", () => {
  const diff = tell({
    before: { processes: [stranger(520)] },
    run: [[100, { processes: [stranger(520), worker] }]],
    after: { processes: [stranger(540)], gpus: [{ usedMib: 2000 }] },
    job: [900],
  });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "unknown",
    reason: absent(
      "not-reported",
      "it is charged to no process, and other people's processes changed meanwhile",
    ),
  });
});

test("diffJob() says still releasing with rate and estimate when the wait ended too early", () => {
  const draining = (mib: number): MachineSpec => ({ processes: [], gpus: [{ usedMib: mib }] });
  const diff = tell({
    before: IDLE,
    run: [[100, { processes: [{ ...worker, mib: 40_000 }] }]],
    settle: [[1000, draining(40_000)], [1500, draining(30_000)], [2000, draining(20_000)]],
    after: draining(20_000),
    job: [900],
    settleEnd: "limit",
  });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "still-releasing",
    rate: { perSecond: 20_000 * MIB, over: 1000, remaining: 1000 },
  });
});

test("diffJob() says still releasing while the driver still lists the job's process as well", () => {
  const draining = (mib: number): MachineSpec => ({ processes: [{ ...worker, mib }] });
  const diff = tell({
    before: IDLE,
    run: [[100, draining(8000)]],
    settle: [[1000, draining(8000)], [2000, draining(6000)]],
    after: draining(6000),
    job: [900],
    alive: [900],
    settleEnd: "limit",
  });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "still-releasing",
    rate: { perSecond: 2000 * MIB, over: 1000, remaining: 3000 },
  });
});

test("diffJob() does not hold unlisted memory against a job that was not seen on that GPU", () => {
  const diff = tell({ before: IDLE, run: [[100, IDLE]], after: { processes: [], gpus: [{ usedMib: 700 }] } });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "unknown",
    reason: absent(
      "not-reported",
      "it is charged to no process, and the job was not seen on this GPU",
    ),
  });
});

test("diffJob() never claims a release from a process list that cannot be read", () => {
  const diff = tell({
    before: { processes: [], gpus: [{ list: "no-permission" }] },
    run: [[100, { processes: [], gpus: [{ list: "no-permission", usedMib: 900 }] }]],
    after: { processes: [], gpus: [{ list: "no-permission" }] },
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "unknown", reason: absent("no-permission") });
  assert.equal(diff.verdict, "unknown");
});

/** A look from inside a container: the driver leaves out whom it cannot see. */
const inContainer = (processes: ProcessSpec[], usedMib: number): MachineSpec => ({
  processes,
  gpus: [{ usedMib }],
  reader: { isInitial: false },
});

test("diffJob() trusts a total that is back where only other people's rows are hidden", () => {
  const diff = tell({
    before: inContainer([], 800),
    run: [[100, inContainer([worker], 4896)]],
    after: inContainer([], 800),
    job: [900],
  });

  assert.equal(gpuOf(diff).verdict.kind, "released");
  assert.deepEqual(gpuOf(diff).left, known(0));
  assert.equal(gpuOf(diff).others.ok, false);
});

test("diffJob() never holds against a job what somebody outside its container may have taken", () => {
  const diff = tell({
    before: inContainer([], 800),
    run: [[100, inContainer([worker], 4896)]],
    after: inContainer([], 2000),
    job: [900],
  });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "unknown",
    reason: absent("hidden", "processes outside this PID namespace are not listed"),
  });
});

test("diffJob() knows the job's own context that is left, in a container too", () => {
  const diff = tell({
    before: inContainer([], 800),
    run: [[100, inContainer([worker], 4896)]],
    after: inContainer([worker], 4896),
    job: [900],
    alive: [900],
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "held", by: [900] });
});

test("diffJob() trusts no total where the job's own rows may be missing", () => {
  const cut = (processes: ProcessSpec[], usedMib: number): MachineSpec => ({
    processes,
    gpus: [{ list: "incomplete", usedMib }],
  });
  const diff = tell({ before: cut([], 0), run: [[100, cut([worker], 4096)]], after: cut([], 0), job: [900] });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "unknown",
    reason: absent("no-permission", "1 row hidden"),
  });
});

test("diffJob() says unknown when the driver's reserve is counted in one look only", () => {
  const diff = tell({
    before: IDLE,
    run: [[100, AT_WORK]],
    after: IDLE,
    job: [900],
    edit: { after: withGpu(() => ({ usedIncludesReserve: known(true) })) },
  });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "unknown",
    reason: absent("failed", "the driver's reserve is counted as used memory in one of the two looks only"),
  });
});

test("diffJob() refuses to claim a release from a GPU that needs a reset", () => {
  const diff = tell({
    before: IDLE,
    run: [[100, AT_WORK]],
    after: IDLE,
    job: [900],
    edit: { after: withGpu(() => ({ utilization: absent("reset-required") })) },
  });

  assert.deepEqual(gpuOf(diff).verdict, { kind: "unknown", reason: absent("reset-required") });
});

test("diffJob() says unknown for a GPU that was lost while the job ran", () => {
  const diff = tell({
    before: IDLE,
    run: [[100, AT_WORK]],
    after: IDLE,
    job: [900],
    edit: { after: (snapshot) => ({ ...snapshot, gpus: [] }) },
  });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "unknown",
    reason: absent("lost", "it is not listed any more"),
  });
  assert.equal(diff.verdict, "unknown");
});

test("diffJob() lets a GPU decide nothing that told nothing before the job either", () => {
  const lost = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    gpus: snapshot.gpus.map((account, place) =>
      place === 0 ? account : { ...account, gpu: { ...account.gpu, memoryUsed: absent("lost") } }
    ),
  });
  const two = (processes: ProcessSpec[]): MachineSpec => ({ gpus: [{}, {}], processes });
  const diff = tell({
    before: two([]),
    run: [[100, two([worker])]],
    after: two([]),
    job: [900],
    edit: { before: lost, after: lost },
  });

  assert.deepEqual(diff.gpus.map(({ verdict }) => verdict.kind), ["released", "unknown"]);
  assert.equal(diff.verdict, "released");
});

test("diffJob() takes a pid that was never seen alive for the job's when a process of the job keeps its memory", () => {
  const child: ProcessSpec = { pid: 911, touch: "inherited", group: 909, parent: 99_999 };
  const ghost: MachineSpec = { processes: [child], dead: [{ pid: 909, mib: 2048 }] };
  const story = { before: IDLE, run: [[100, ghost]] as const, after: ghost, unplaced: [909] };

  assert.deepEqual(gpuOf(tell({ ...story, job: [911], alive: [911] })).verdict, { kind: "held", by: [911] });
  assert.deepEqual(gpuOf(tell(story)).verdict, { kind: "changed-by-others" });
});

test("diffJob() takes a later process under a member's pid for somebody else", () => {
  const later: ProcessSpec = { pid: 900, touch: "context", mib: 4096, startTicks: 12_345 };
  const diff = tell({ before: IDLE, run: [[100, AT_WORK]], after: { processes: [later] }, job: [900] });

  assert.deepEqual(gpuOf(diff).verdict, {
    kind: "released",
    in: absent("not-reported", "the moment was not seen"),
  });
  assert.deepEqual(gpuOf(diff).others, known(4096 * MIB));
});

test("diffJob() judges only the GPUs that were asked for", () => {
  const two = (processes: ProcessSpec[]): MachineSpec => ({ gpus: [{}, {}], processes });
  const evidence = evidenceOf({
    before: two([]),
    run: [[100, two([worker])]],
    after: two([worker]),
    job: [900],
    alive: [900],
  });
  const diff = diffJob({ ...evidence, gpus: new Set([uuidOf(1)]) });

  assert.deepEqual(diff.gpus.map(({ index, verdict }) => [index, verdict.kind]), [[1, "unchanged"]]);
});

test("diffJob() does not blame the job for the 9 MiB that come with each new context of others", () => {
  const others: MachineSpec = { processes: [stranger(774)], gpus: [{ usedMib: 774 + 9 }] };
  const both: MachineSpec = { processes: [worker, stranger(774)], gpus: [{ usedMib: 4096 + 774 + 18 }] };
  const story = {
    before: IDLE,
    run: [[100, both], [200, both]],
    settle: [[1005, both], [1085, others]],
    after: others,
    job: [900],
    ranForMs: 1000,
  } as const;
  const diff = tell(story);
  assert.deepEqual([gpuOf(diff).verdict, gpuOf(diff).left], [{ kind: "released", in: known(85) }, known(0)]);

  const leaked: MachineSpec = { ...others, gpus: [{ usedMib: 774 + 9 + 40 }] };
  const leaking = tell({ ...story, settle: [[1005, both], [1085, leaked]], after: leaked });
  assert.deepEqual([gpuOf(leaking).verdict.kind, gpuOf(leaking).left], ["unknown", known(49 * MIB)]);
});
