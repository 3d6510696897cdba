import assert from "node:assert/strict";
import { test } from "node:test";
import { diagnose, type DoctorOptions, type DoctorWorld } from "../../../lib/action/doctor.ts";
import { CHECKS, chooseChecks } from "../../../lib/analysis/doctor/checks.ts";
import { GpuctlError } from "../../../lib/core/errors.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { type Milliseconds, milliseconds } from "../../../lib/core/units.ts";
import type { Diagnosis } from "../../../lib/model/doctor.ts";
import type { Observation } from "../../../lib/model/observation.ts";
import type { Examination, LookOptions } from "../../../lib/world/ports.ts";
import { doctorFacts } from "../../support/doctor_scene.ts";

const NEVER = Promise.withResolvers<never>().promise;

/** A clock that stands still until somebody waits for it, and goes there when nothing else is to be done. */
class StoppedClock {
  nowMs = 0;

  now(): string {
    return "2026-11-30T12:00:00.000Z";
  }

  monotonic(): Milliseconds {
    return milliseconds(this.nowMs);
  }

  async pause(span: Milliseconds): Promise<void> {
    const until = this.nowMs + span;
    // Whatever does not need time is done first.
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    this.nowMs = Math.max(this.nowMs, until);
  }
}

interface Fake {
  readonly world: DoctorWorld;
  /** How often each part was read. */
  readonly reads: string[];
  readonly looks: LookOptions[];
}

function fakeWorld(
  { observe, ...changes }: Partial<Examination> & { readonly observe?: () => Promise<Observation> } = {},
  variables: Readonly<Record<string, string>> = {},
): Fake {
  const facts = doctorFacts();
  const reads: string[] = [];
  const looks: LookOptions[] = [];
  const give = <T>(
    name: string,
    reading: { readonly ok: true; readonly value: T } | { readonly ok: false },
  ) => {
    return (): Promise<T> => {
      reads.push(name);
      return reading.ok ? Promise.resolve(reading.value) : assert.fail(`the scene has ${name}`);
    };
  };
  const examination: Examination = {
    readDriver: give("driver", facts.driver),
    readStanding: () => Promise.resolve(facts.standing),
    readMachine: give("machine", facts.machine),
    readServices: () => Promise.resolve(facts.services),
    readContainers: give("containers", facts.containers),
    readMps: give("mps", facts.mps),
    readActs: () => Promise.resolve(facts.acts),
    readPython: give("python", facts.python),
    ...changes,
  };
  const { look } = facts;
  return {
    reads,
    looks,
    world: {
      clock: new StoppedClock(),
      openExamination: () => Promise.resolve(examination),
      observe: (_, options) => {
        looks.push(options);
        return observe?.() ?? (look.ok ? Promise.resolve(look.value.observation) : assert.fail("no look"));
      },
      origins: {
        readEnvironment: () => known(new Map([["CUDA_VISIBLE_DEVICES", "-1"]])),
        readOwner: () => absent("exited"),
      },
      variable: (name) => variables[name],
    },
  };
}

const OPTIONS: DoctorOptions = {
  source: { kind: "nvml" },
  checks: CHECKS,
  deadline: milliseconds(5000),
  pids: [],
  python: undefined,
};

function statusesOf({ checks }: Diagnosis): Readonly<Record<string, string>> {
  return Object.fromEntries(checks.map(({ id, status }) => [id, status]));
}

function only(...names: readonly string[]): DoctorOptions {
  const choice = chooseChecks({ only: names });
  return { ...OPTIONS, checks: choice.kind === "checks" ? choice.checks : assert.fail(choice.name) };
}

test("diagnose() makes every check in its order, and looks at the driver once for all of them", async () => {
  const fake = fakeWorld();
  const diagnosis = await diagnose(OPTIONS, fake.world);
  assert.deepEqual(diagnosis.checks.map(({ id }) => id), CHECKS.map(({ id }) => id));
  assert.deepEqual([...new Set(diagnosis.checks.map(({ status }) => status))].sort(), ["ok", "skipped"]);
  assert.deepEqual(fake.looks, [{ within: 3500, withUtilization: true, withHealth: true }]);
  assert.deepEqual(fake.reads.toSorted(), ["containers", "driver", "machine", "mps", "python"]);
});

test("diagnose() reads nothing that the chosen checks do not need", async () => {
  const fake = fakeWorld();
  const { checks } = await diagnose(only("mps"), fake.world);
  assert.deepEqual([fake.looks, fake.reads], [[], ["mps"]]);
  assert.deepEqual(checks, [{
    id: "mps",
    status: "skipped",
    title: "no program is led to a dead MPS daemon",
    explanation:
      "A pipe directory makes every program of its user a client of MPS, silently. If the daemon is gone, each fails or " +
      "waits at its start.",
    evidence: ["MPS is not in use: there is no control pipe in /tmp/nvidia-mps"],
    took: 0,
  }]);
});

test("diagnose() lets a driver that hangs keep only those checks from an answer that need it", async () => {
  const fake = fakeWorld({ observe: () => NEVER });
  const diagnosis = await diagnose(OPTIONS, fake.world);
  const waited = diagnosis.checks.filter(({ took }) => took > 0).map((
    { id, took, status },
  ) => [id, took, status]);
  const needing = CHECKS.filter(({ reads }) => reads.includes("look")).map(({ id }) => id);
  assert.deepEqual(waited.map(([id]) => id), needing);
  assert.deepEqual([...new Set(waited.map(([, took]) => took))], [5000]);
  assert.deepEqual(
    waited.filter(([, , status]) => status !== "unknown").map(([id, , status]) => [id, status]),
    [["driver.answers", "finding"], ["environment.visible-devices", "ok"]],
  );
});

test("diagnose() gives up on a file system that does not answer, and says so", async () => {
  const fake = fakeWorld({ readPython: () => NEVER });
  const { checks } = await diagnose(only("framework.torch", "driver.module-loaded"), fake.world);
  assert.deepEqual(checks.map(({ id, status, evidence, took }) => [id, status, evidence[0], took]), [
    ["driver.module-loaded", "ok", "the kernel module 580.159.04 is loaded", 0],
    [
      "framework.torch",
      "unknown",
      "which packages the Python interpreters have is not known: no answer in time (no answer within 5 s)",
      5000,
    ],
  ]);
});

test("diagnose() takes a source that cannot be asked for a finding, and no other error for one", async () => {
  const refusal = new GpuctlError("unavailable", "Cannot ask nvidia-smi: it is not installed here");
  const fake = fakeWorld({ observe: () => Promise.reject(refusal) });
  const { checks } = await diagnose(only("driver.answers"), fake.world);
  assert.deepEqual(checks.map(({ status, evidence }) => [status, evidence]), [
    ["finding", ["it cannot be asked: Cannot ask nvidia-smi: it is not installed here"]],
  ]);
  const bug = fakeWorld({ observe: () => Promise.reject(new TypeError("a bug")) });
  await assert.rejects(diagnose(only("driver.answers"), bug.world), TypeError);
});

test("diagnose() judges the variables of this shell and of the processes that were named, and no other variables", async () => {
  const fake = fakeWorld({}, { CUDA_VISIBLE_DEVICES: "0", NVIDIA_API_KEY: "secret" });
  const options = { ...only("environment"), pids: [pid(812)] };
  const { checks } = await diagnose(options, fake.world);
  assert.equal(
    statusesOf({ takenAt: "", simulated: false, checks })["environment.visible-devices"],
    "unknown",
  );
  assert.deepEqual(checks[0]?.evidence, [
    "whether PID 812 runs in a container is not known: the process has exited",
    'this shell: CUDA_VISIBLE_DEVICES is "0"',
    '"0" names GPU 0',
    "The process gets GPU 0 as its device 0",
  ]);
});
