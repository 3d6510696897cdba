import assert from "node:assert/strict";
import { test } from "node:test";
import { isolateMachine } from "../../../lib/action/isolate_machine.ts";
import {
  isolateRunning,
  type IsolateRunningOptions,
  type IsolateRunningWorld,
  type Named,
} from "../../../lib/action/isolate_running.ts";
import { pid } from "../../../lib/core/ids.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import type { IsolationVerdict } from "../../../lib/model/isolation.ts";
import { parseRuleFile } from "../../../commands/rule_file.ts";
import type { MachineSpec, ProcessSpec } from "../../support/machine.ts";
import type { Clock } from "../../../lib/world/ports.ts";
import { runningWorld } from "../../support/running_world.ts";

type Moment = (atMs: number) => MachineSpec | "no answer";
const ID = "0123456789ab".padEnd(64, "0");
const LOOK = { within: milliseconds(1000), withUtilization: false };
const two = (...processes: readonly ProcessSpec[]): MachineSpec => ({ gpus: [{}, {}], processes });
const pids = (...ids: readonly number[]): Named => ({ kind: "pids", pids: ids.map(pid) });
const SECOND = { span: milliseconds(1000), interval: milliseconds(100) };

/** Judges what may use the second GPU. */
async function isolate(
  machine: Moment | MachineSpec,
  named: Named,
  { caught, ...options }:
    & Partial<IsolateRunningOptions>
    & Pick<Parameters<typeof runningWorld>[0], "caught"> = {},
): Promise<IsolationVerdict> {
  const world = runningWorld({
    machine: typeof machine === "function" ? machine : () => machine,
    ...caught && { caught },
  });
  return await judge(named, world, options);
}

/** The same in a world that the test has made. */
async function judge(
  named: Named,
  world: IsolateRunningWorld,
  options: Partial<IsolateRunningOptions> = {},
): Promise<IsolationVerdict> {
  const { isolation } = await isolateRunning({
    named,
    source: { kind: "nvml" },
    look: LOOK,
    watch: undefined,
    threshold: bytes(0),
    isExclusive: false,
    lint: [],
    allow: ({ gpus }) => gpus.slice(1).map(({ uuid }) => ({ gpu: uuid })),
    ...options,
  }, world);
  return isolation;
}

const broken = ({ violations }: IsolationVerdict) =>
  violations.map(({ pid, index, cause }) => [pid, index, cause]);
const messages = ({ problems }: IsolationVerdict) => problems.map(({ message }) => message);

test("isolateRunning() judges by one look the processes that are named", async () => {
  const machine = two(
    { pid: 50 },
    { pid: 100, touch: "context", on: [1] },
    { pid: 200, parent: 50, touch: "context", on: [0] },
  );
  assert.equal((await isolate(machine, pids(100))).verdict, "isolated");
  assert.deepEqual(broken(await isolate(machine, pids(100, 200))), [[200, 0, "variable-missing"]]);
});

test("isolateRunning() watches for a while, and judges the child that comes and goes", async () => {
  const parent: ProcessSpec = { pid: 100, touch: "context", on: [1] };
  const child: ProcessSpec = { pid: 110, parent: 100, touch: "context", on: [0] };
  const machine: Moment = (at) => at >= 300 && at < 500 ? two(parent, child) : two(parent);
  const judged = await isolate(machine, pids(100), { watch: SECOND });
  assert.deepEqual([judged.verdict, judged.looks, judged.longestGap], ["violated", 11, 100]);
  assert.deepEqual(broken(judged), [[110, 0, "variable-missing"]]);
});

test("isolateRunning() judges new processes of a container that is watched", async () => {
  const owner = { container: { id: ID, runtime: "docker", isMonitor: false } as const };
  const first: ProcessSpec = { pid: 100, owner };
  const machine: Moment = (at) =>
    at < 300 ? two(first) : two(first, { pid: 300, owner, touch: "context", on: [0] });
  const named: Named = { kind: "owner", names: { container: ID.slice(0, 12) } };
  assert.deepEqual(broken(await isolate(machine, named, { watch: SECOND })), [[300, 0, "container"]]);
  assert.equal((await isolate(machine, named)).verdict, "isolated");
});

test("isolateRunning() takes a container's GPUs from what it was given, and says so", async () => {
  const owner = { container: { id: ID, runtime: "docker", isMonitor: false } as const };
  const named: Named = { kind: "owner", names: { container: ID } };
  const on = (given: string) =>
    two({
      ...{ pid: 100, owner, namespacePids: [100, 1], touch: "context", on: [0] },
      environment: { NVIDIA_VISIBLE_DEVICES: given },
    });
  const astray = await isolate(on("1"), named, { allow: undefined });
  assert.deepEqual(broken(astray), [[100, 0, "container"]]);
  assert.equal(
    astray.notes[0],
    'Which GPUs were given is taken from NVIDIA_VISIBLE_DEVICES="1" of its first process, PID 100; --gpu would say ' +
      "it for certain",
  );
  assert.equal((await isolate(on("0"), named, { allow: undefined })).verdict, "isolated");
  await assert.rejects(isolate(on("void"), named, { allow: undefined }), {
    failure: "usage",
    message: `Cannot tell which GPUs container ${ID} was given: NVIDIA_VISIBLE_DEVICES="void" of its first ` +
      "process, PID 100 does not say which GPUs it was given",
    hint: "--gpu says which",
  });
});

test("isolateRunning() ends its watch on a signal and judges what was seen until then", async () => {
  const machine: Moment = (at) => two({ pid: 100, touch: "context", on: at < 500 ? [1] : [0, 1] });
  const judged = await isolate(machine, pids(100), {
    watch: SECOND,
    caught: [{ atMs: 250, signal: "SIGINT", isFromTerminal: true }],
  });
  assert.deepEqual([judged.verdict, judged.looks], ["isolated", 3]);
  assert.equal(judged.notes[0], "SIGINT ended the watch after 250 ms of 1 s: only that was judged");
});

test("isolateRunning() refuses what does not run, and a driver that does not answer", async () => {
  await assert.rejects(isolate(two(), pids(100)), {
    failure: "unavailable",
    message: "Cannot judge PID 100: there is no such process",
  });
  await assert.rejects(isolate(two({ pid: 100 }), { kind: "owner", names: { slurmJob: "7\u001b" } }), {
    failure: "unavailable",
    message: "Cannot judge Slurm job 7\\u{1b}: nothing of it runs here",
  });
  await assert.rejects(isolate((at) => at < 0 ? two() : "no answer", { kind: "pids", pids: [] }), {
    failure: "unavailable",
    message: "Cannot look at the GPUs as the driver gave no answer: no answer in time",
  });
});

test("isolateRunning() proves nothing where a look was not answered or a pid came and went unseen", async () => {
  const process: ProcessSpec = { pid: 100, touch: "context", on: [1] };
  const missed = await isolate((at) => at === 500 ? "no answer" : two(process), pids(100), { watch: SECOND });
  assert.deepEqual([missed.verdict, messages(missed)], [
    "unproven",
    ["1 of 11 looks were not answered: no answer in time"],
  ]);
  const dead = await isolate({ ...two(process), dead: [{ pid: 110, on: [0], mib: 300 }] }, pids(100));
  assert.deepEqual([dead.verdict, messages(dead)], [
    "unproven",
    ["GPU 0: PID 110 has a context, and whose it is could not be told"],
  ]);
});

test("isolateRunning() proves nothing inside a PID namespace, and suspects memory that came up elsewhere", async () => {
  const machine: Moment = (at) => ({
    gpus: [{ usedMib: at < 500 ? 100 : 900 }, {}],
    processes: [{ pid: 100, touch: "context", on: [1] }],
    reader: { isInitial: false },
  });
  const judged = await isolate(machine, pids(100), { watch: SECOND });
  assert.equal(judged.verdict, "unproven");
  assert.deepEqual(judged.suspicions.map(({ index, growthBytes }) => [index, growthBytes]), [
    [0, 800 * 1024 ** 2],
  ]);
});

test("isolateRunning() takes another process under a used pid for nobody's", async () => {
  const first: ProcessSpec = { pid: 110, parent: 100, touch: "context", on: [1] };
  const second: ProcessSpec = { pid: 110, startTicks: 7777, touch: "context", on: [0] };
  const root: ProcessSpec = { pid: 100 };
  const machine: Moment = (at) => two(root, ...(at < 300 ? [first] : at < 600 ? [] : [second]));
  const judged = await isolate(machine, pids(100), { watch: SECOND });
  assert.deepEqual([judged.verdict, judged.violations], ["unproven", []]);
});

test("isolateRunning() finds intruders where the GPUs were to be exclusive", async () => {
  const machine = two(
    { pid: 100, touch: "context", on: [1] },
    { pid: 200, touch: "context", on: [1], user: { uid: 1001, name: "bob" }, mib: 300 },
  );
  const shared = await isolate(machine, pids(100));
  assert.deepEqual([shared.verdict, shared.notes[0]], [
    "isolated",
    "PID 200 (python3.12) of bob had 300 MiB on GPU 1 too",
  ]);
  const judged = await isolate(machine, pids(100), { isExclusive: true });
  assert.deepEqual(broken(judged), [[200, 1, "intruder"]]);
});

test("isolateRunning() says that a process ended while it was watched", async () => {
  const machine: Moment = (at) => at < 500 ? two({ pid: 100, touch: "context", on: [1] }) : two();
  const judged = await isolate(machine, pids(100), { watch: SECOND });
  assert.deepEqual([judged.verdict, judged.notes[0]], ["isolated", "PID 100 ended during the watch"]);
});

test("isolateMachine() holds a Slurm job to what it was given, read from its processes without a GPU too", async () => {
  const owner = { slurmJob: "7" };
  const job: ProcessSpec = { pid: 100, owner, touch: "context", on: [0] };
  const script: ProcessSpec = { pid: 90, owner, environment: { SLURM_JOB_GPUS: "1" } };
  const { isolation } = await isolateMachine({
    file: parseRuleFile('[[rule]]\nslurm-job = "*"\ngpus = "given"'),
    source: { kind: "nvml" },
    look: LOOK,
    watch: SECOND,
    threshold: bytes(0),
    check: ({ mistakes }) => assert.deepEqual(mistakes, []),
    // The first look has read everybody of this machine: who came later was read by nobody yet.
  }, runningWorld({ machine: (at) => at < 500 ? two(job) : two(job, script) }));
  assert.deepEqual(broken(isolation), [[100, 0, "variable-missing"]]);
});

test("isolateRunning() explains by the habit of their framework where processes are", async () => {
  const machine = two({ pid: 100, touch: "context", on: [0, 1] }, { pid: 200, touch: "context", on: [0, 1] });
  const habits = async (named: Named) =>
    (await isolate(machine, named)).notes.filter((note) => note.includes("JAX"))
      .map((note) => note.replace(/, which.*/, ""));

  assert.deepEqual(await habits(pids(100)), ["PID 100 runs JAX"]);
  assert.deepEqual(await habits(pids(100, 200)), ["PID 100 and 1 more run JAX"]);
});

test("isolateRunning() leaves open whose a context is that may be an orphan's of the process that was named", async () => {
  const daemon: ProcessSpec = { pid: 200, touch: "context", on: [0] };
  const verdict = await isolate(two({ pid: 100 }, daemon), pids(100));

  assert.equal(verdict.verdict, "unproven");
  assert.deepEqual(messages(verdict), ["GPU 0: PID 200 has a context, and whose it is could not be told"]);
});

test("isolateRunning() refuses who can have no context: a zombie, a thread, and one that is not there or hidden", async () => {
  await assert.rejects(isolate(two({ pid: 100, state: "Z", threadStates: ["Z"] }), pids(100)), {
    message: "Cannot judge PID 100: it has ended, and its parent has not taken note of that yet",
  });
  await assert.rejects(isolate(two(), pids(101)), {
    message: "Cannot judge PID 101: there is no such process",
  });

  const world = runningWorld({ machine: () => two({ pid: 100 }, { pid: 101 }) });
  const population = { ...world.population, listPids: () => [pid(100)] };
  await assert.rejects(judge(pids(101), { ...world, population }), {
    message: "Cannot judge PID 101: that is a thread, not a process",
    hint: "grep Tgid /proc/101/status says of which process",
  });
  const hidden = { ...population, readProcess: () => Promise.resolve(undefined) };
  const processes = { ...world.processes, findProcess: denied };
  await assert.rejects(judge(pids(100), { ...world, processes, population: hidden }), {
    message: "Cannot judge PID 100: it has just ended, or is hidden from this user",
  });
});

/** What the system says of a process under hidepid=1. */
function denied(): never {
  throw Object.assign(new Error("EPERM: operation not permitted, open"), { code: "EPERM" });
}

test("isolateRunning() proves nothing where it was kept from looking for longer than a look may take", async () => {
  const world = runningWorld({ machine: () => two({ pid: 100, touch: "context", on: [1] }) });
  let pauses = 0;
  const clock: Clock = {
    now: () => world.clock.now(),
    monotonic: () => world.clock.monotonic(),
    pause: (span) => world.clock.pause(++pauses === 3 ? milliseconds(5000) : span),
  };
  const watch = { span: milliseconds(10_000), interval: milliseconds(100) };
  const verdict = await judge(pids(100), { ...world, clock }, { watch });

  assert.equal(verdict.verdict, "unproven");
  assert.deepEqual(messages(verdict), [
    "For 5 s no look was taken: gpuctl did not run, or had to wait for the machine",
  ]);
});

test("isolateRunning() judges a GPU that came up during the watch", async () => {
  const grown = (atMs: number): MachineSpec =>
    atMs < 450
      ? two({ pid: 100 })
      : { gpus: [{}, {}, {}], processes: [{ pid: 100, touch: "context", on: [2] }] };
  const { violations, gpus } = await isolate(grown, pids(100), { watch: SECOND });

  assert.deepEqual(violations.map(({ pid, index, cause }) => [pid, index, cause]), [[
    100,
    2,
    "variable-missing",
  ]]);
  assert.deepEqual(gpus.map(({ index, allowed, verdict }) => [index, allowed, verdict]), [
    [0, "not", "isolated"],
    [1, "wholly", "isolated"],
    [2, "not", "violated"],
  ]);
});
