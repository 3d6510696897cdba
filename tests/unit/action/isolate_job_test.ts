import assert from "node:assert/strict";
import { test } from "node:test";
import { isolateJob, type IsolateJobOptions } from "../../../lib/action/isolate_job.ts";
import { pid } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import type { AccountedProcess } from "../../../lib/model/accounting.ts";
import type { Gpu } from "../../../lib/model/gpu.ts";
import type { Environment, Owner } from "../../../lib/model/process.ts";
import { COMMAND_PID, jobWorld, type JobWorldSpec, OWN_PID } from "../../support/job_world.ts";
import type { MachineSpec, ProcessSpec } from "../../support/machine.ts";

const OWNER: Owner = { cgroup: "/", isCgroupDeleted: false };
const command: ProcessSpec = { pid: COMMAND_PID, parent: OWN_PID };
/** The machine while the command runs and, where it leaves something, after that. */
const until = (endsAt: number, before: MachineSpec, after: MachineSpec) => (at: number) =>
  at < endsAt ? before : after;
const two = (...processes: readonly ProcessSpec[]): MachineSpec => ({ gpus: [{}, {}], processes });

/** Runs a job that may use the second GPU. */
async function isolate(
  spec: JobWorldSpec,
  { environment = {}, ...options }: Partial<IsolateJobOptions> & {
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
) {
  const variables: Environment = new Map(Object.entries(environment));
  const world = jobWorld(spec);
  const outcome = await isolateJob({
    command: ["python", "train.py"],
    source: { kind: "nvml" },
    threshold: bytes(0),
    isExclusive: false,
    timeout: undefined,
    interval: milliseconds(50),
    look: { within: milliseconds(1000), withUtilization: false },
    lint: [],
    prepare: ({ gpus }) => ({
      allowed: gpus.slice(1).map(({ uuid }) => ({ gpu: uuid })),
      variables: { CUDA_VISIBLE_DEVICES: "GPU-1" },
    }),
    ...options,
  }, {
    ...world,
    origins: { readEnvironment: () => known(variables), readOwner: () => known(OWNER) },
  });
  assert.ok("isolation" in outcome, "the command was not started");
  return { world, outcome, verdict: outcome.isolation };
}

test("isolateJob() says isolated of a job that kept to its GPU, and started it as prepared", async () => {
  const { world, outcome, verdict } = await isolate({
    machine: until(1000, two({ ...command, touch: "context", on: [1], mib: 2048 }), two()),
    endsAtMs: 1000,
  });

  assert.deepEqual(world.started, [{
    command: ["python", "train.py"],
    variables: { CUDA_VISIBLE_DEVICES: "GPU-1" },
  }]);
  assert.deepEqual([outcome.end, outcome.hasTimedOut], [{ kind: "exited", status: 0 }, false]);
  assert.deepEqual([verdict.verdict, verdict.problems], ["isolated", []]);
});

test("isolateJob() finds the context that only a child has, after the command has ended", async () => {
  const child: ProcessSpec = { pid: 910, parent: OWN_PID };
  const later = until(3000, two({ ...child, touch: "context", on: [0], mib: 600 }), two());
  const { verdict } = await isolate({
    machine: (at) => at < 1000 ? two(command, child) : later(at),
    endsAtMs: 500,
  });

  assert.deepEqual(
    verdict.violations.map(({ index, pid, cause }) => [index, pid, cause]),
    [[0, 910, "variable-missing"]],
  );
});

test("isolateJob() notes the GPUs that a process without a context there could see", async () => {
  const seeing: ProcessSpec = { ...command, touch: "context", on: [1], sees: [0], mib: 2048 };
  const { verdict } = await isolate({ machine: until(1000, two(seeing), two()), endsAtMs: 1000 });

  assert.equal(verdict.verdict, "isolated");
  assert.deepEqual(verdict.notes.filter((note) => note.includes("visible")), [
    "GPU 0 is visible to 1 process of the job (PID 900), without a context: about 3 MiB of it for each, charged to " +
    "nobody. CUDA_VISIBLE_DEVICES would hide it",
  ]);
});

test("isolateJob() notes the GPU that a process without any context could see only for a while", async () => {
  const seeing: ProcessSpec = { pid: 910, parent: COMMAND_PID, touch: "visible", on: [0] };
  const { verdict } = await isolate({
    machine: (at) => at > 400 && at < 900 ? two(command, seeing) : at < 2000 ? two(command) : two(),
    endsAtMs: 2000,
  });

  assert.deepEqual(verdict.notes.filter((note) => note.includes("visible")), [
    "GPU 0 is visible to 1 process of the job (PID 910), without a context: about 3 MiB of it for each, charged to " +
    "nobody. CUDA_VISIBLE_DEVICES would hide it",
  ]);
});

test("isolateJob() leaves somebody else's process alone", async () => {
  const other: ProcessSpec = { pid: 700, touch: "context", on: [0], mib: 600 };
  const { verdict } = await isolate({ machine: until(1000, two(command, other), two()), endsAtMs: 1000 });

  assert.deepEqual([verdict.verdict, verdict.violations], ["isolated", []]);
});

test("isolateJob() proves nothing of what it was not left to see to its end", async () => {
  const child: ProcessSpec = { pid: 910, parent: OWN_PID };
  const { verdict } = await isolate({
    machine: until(500, two(command, child), two(child)),
    endsAtMs: 500,
    caught: [{ atMs: 2000, signal: "SIGTERM", isFromTerminal: false }],
  });

  assert.deepEqual(verdict.problems.map(({ message }) => message), [
    "Not every process of the job could be told from others: not asked for (1 process of it still ran when the " +
    "watch ended)",
  ]);
});

test("isolateJob() does not start a command when the driver gives no answer", async () => {
  await assert.rejects(isolate({ machine: () => "no answer" }), {
    name: "GpuctlError",
    failure: "unavailable",
    message: "Cannot look at the GPUs as the driver gave no answer: no answer in time",
    hint: "the command was not started",
  });
});

test("isolateJob() ends a job whose time is up", async () => {
  const { world, outcome } = await isolate({
    machine: (_at, signals) => signals.length > 0 ? two() : two(command),
    diesOf: { signal: "SIGTERM", afterMs: 100 },
  }, { timeout: milliseconds(2000) });

  assert.equal(outcome.hasTimedOut, true);
  assert.deepEqual(world.signals.map(({ pid, signal }) => [pid, signal]), [[COMMAND_PID, "SIGTERM"]]);
});

test("isolateJob() convicts others on the GPUs that a job is to have for itself, by name, and only notes them otherwise", async () => {
  const other: ProcessSpec = {
    pid: 700,
    touch: "context",
    on: [1],
    mib: 600,
    user: { uid: 1001, name: "bob" },
  };
  const world = {
    machine: until(
      1000,
      two({ ...command, touch: "context", on: [1], mib: 2048 }, other),
      two(other),
    ),
    endsAtMs: 1000,
  };
  const { verdict } = await isolate(world, { isExclusive: true });
  assert.deepEqual(
    verdict.violations.map(({ index, pid, cause, party }) => [index, pid, cause, party?.user]),
    [[1, 700, "intruder", known("bob")]],
  );
  const shared = await isolate(world);
  assert.deepEqual([shared.verdict.verdict, shared.verdict.violations], ["isolated", []]);
  assert.match(shared.verdict.notes.join("\n"), /PID 700 .*bob.* 600 MiB on GPU 1/);
});

/** Two GPUs of whose users the driver keeps account: nobody before the job, these on the first one after it. */
function accounted(...processes: readonly AccountedProcess[]) {
  return (gpus: readonly Gpu[], { isAfter }: { readonly isAfter: boolean }): readonly Gpu[] =>
    gpus.map((gpu, place) => ({ ...gpu, accounting: known(isAfter && place === 0 ? processes : []) }));
}

const brief = { pid: pid(4711), startedAt: 17, peak: known(bytes(612 * 2 ** 20)), isRunning: false };

test("isolateJob() proves isolation also of a job that was over before a look, where account is kept", async () => {
  const { verdict } = await isolate({
    machine: until(1, two(command), two()),
    endsAtMs: 1,
    account: accounted(),
  });

  assert.deepEqual([verdict.verdict, verdict.problems], ["isolated", []]);
  assert.deepEqual(verdict.notes.filter((note) => note.includes("account")), [
    "1 look was taken, and the driver's own account names who came between",
  ]);
});

test("isolateJob() does not pass a job while somebody unknown used another GPU between two looks", async () => {
  const { verdict } = await isolate({
    machine: until(1000, two({ ...command, touch: "context", on: [1], mib: 2048 }), two()),
    endsAtMs: 1000,
    account: accounted(brief),
  });

  assert.deepEqual(verdict.problems.map(({ message }) => message), [
    "GPU 0: PID 4711 came up during the job, and whose it was could not be told",
  ]);
});

test("isolateJob() convicts a child that used another GPU between two looks", async () => {
  const child: ProcessSpec = { pid: 910, parent: COMMAND_PID };
  const { verdict } = await isolate({
    machine: until(1000, two(command, child), two()),
    endsAtMs: 1000,
    account: accounted({ ...brief, pid: pid(910) }),
  });

  assert.deepEqual(verdict.violations.map(({ index, pid, contextBytes }) => [index, pid, contextBytes]), [
    [0, 910, 612 * 2 ** 20],
  ]);
});

test("isolateJob() explains the context that a short job took by the habit of its framework", async () => {
  const machine = until(30, two({ ...command, touch: "context", on: [0, 1], mib: 552 }), two());
  const habits = async (spec: Partial<JobWorldSpec>) => {
    const { verdict } = await isolate({ machine, endsAtMs: 30, ...spec });
    return verdict.notes.filter((note) => note.includes(" runs ")).map((note) =>
      note.replace(/, which.*/, "")
    );
  };

  assert.deepEqual(await habits({}), ["PID 900 runs JAX"]);
  assert.deepEqual(await habits({ mappedFiles: () => ["/usr/bin/python3"] }), []);
});
