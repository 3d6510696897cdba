/** One machine through the driver's library, nvidia-smi and a simulated server: three reports that say the same. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { attribute } from "../../lib/analysis/attribute.ts";
import { known } from "../../lib/core/reading.ts";
import { milliseconds } from "../../lib/core/units.ts";
import type { DriverReport } from "../../lib/model/gpu.ts";
import { describeServer } from "../../lib/source/sim/report.ts";
import { readSmiReport } from "../../lib/source/smi/live.ts";
import { readReport } from "../support/driver_reports.ts";
import { type MachineSpec, observe, type ProcessSpec } from "../support/machine.ts";
import { buildStub, type Stub } from "../support/nvml_stub.ts";
import { type SameMachine, toScenario, toSimulation, toSmiAnswers } from "../support/same_machine.ts";
import { smiScript } from "../support/smi_script.ts";

const MACHINES: Readonly<Record<string, SameMachine>> = {
  "an idle GPU": [{}],
  "two processes on one of two GPUs": [
    { processes: [{ pid: 300, mib: 520 }, { pid: 31_000, mib: 70_000 }] },
    {},
  ],
  "memory that no process explains": [{ processes: [{ pid: 300, mib: 520 }], unattributedMib: 3000 }],
  "a divided GPU with two compute instances in one GPU instance": [{
    mig: [
      { gpuInstance: 1, computeInstance: 0, profile: "1c.3g.71gb", mib: 69_632 },
      { gpuInstance: 1, computeInstance: 1, profile: "2c.3g.71gb", mib: 69_632 },
      { gpuInstance: 5, computeInstance: 0, profile: "1g.18gb", mib: 16_384 },
    ],
    processes: [
      { pid: 300, mib: 520, gpuInstance: 1, computeInstance: 0 },
      { pid: 301, mib: 1000, gpuInstance: 1, computeInstance: 1 },
      { pid: 302, mib: 16, gpuInstance: 5, computeInstance: 0 },
    ],
  }, {}],
  "clients of an MPS server": [{ hasMps: true, processes: [{ pid: 300, mib: 520 }, { pid: 301, mib: 1 }] }],
  "a GPU that has fallen off the bus": [{ processes: [{ pid: 300, mib: 520 }] }, { isLost: true }, {}],
  "a GPU whose processes may not be listed": [{ isListDenied: true, unattributedMib: 520 }, {}],
  "GPUs that ask for recovery": [{ recoveryAction: "reset" }, { recoveryAction: "drain-and-reset" }],
  "eight GPUs": Array.from({ length: 8 }, (_, index) => ({
    processes: [{ pid: 300, mib: 520 }, { pid: 400 + index, mib: 1000 * (index + 1) }],
  })),
};

type Source = "nvidia-smi" | "sim";

/** What a source cannot know, by the place of the value, and why. Everything else is equal. */
const CANNOT_KNOW: Readonly<Record<Source, Readonly<Record<string, string>>>> = {
  "nvidia-smi": {
    "driver.libraryVersion.ok": "-q -x prints the version of the driver and not that of the library",
    "driver.libraryVersion.why": "see driver.libraryVersion.ok",
    "driver.libraryVersion.value": "see driver.libraryVersion.ok",
    "gpus.*.processList.contexts.*.name": "the driver lists pids; nvidia-smi looks their names up in /proc",
  },
  sim: {},
};
/** For people; each source's own words. */
const DETAIL = /\.detail$/;

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

const met: Record<Source, Set<string>> = { "nvidia-smi": new Set(), sim: new Set() };

async function readByLibrary(machine: SameMachine): Promise<DriverReport> {
  const report = await readReport(stub, toScenario(machine), { withUtilization: true });
  if (!report.ok) throw new Error(`Cannot read the stand-in: ${report.detail}`);
  return report.value;
}

async function readBySmi(machine: SameMachine): Promise<DriverReport> {
  using smi = smiScript(toSmiAnswers(machine));
  const deadline = milliseconds(performance.now() + 10_000);
  const { report } = await readSmiReport({ ...smi.options, deadline });
  if (!report.ok) throw new Error(`Cannot read the stand-in: ${report.detail}`);
  return report.value;
}

function readBySimulation(machine: SameMachine): DriverReport {
  const { server, memory } = toSimulation(machine);
  return describeServer(server, memory, { withUtilization: true });
}

for (const [name, machine] of Object.entries(MACHINES)) {
  test(`the three sources give one report of ${name}`, async () => {
    const library = await readByLibrary(machine);
    const others = { "nvidia-smi": await readBySmi(machine), sim: readBySimulation(machine) };
    for (const source of ["nvidia-smi", "sim"] as const) {
      const differing = differences(library, others[source]).filter((path) => !DETAIL.test(path));
      for (const path of differing) met[source].add(path);
      assert.deepEqual(differing.filter((path) => !(path in CANNOT_KNOW[source])), [], source);
    }
  });

  test(`the three sources lead to one snapshot of ${name}`, async () => {
    const spec: MachineSpec = { processes: processesOf(machine) };
    const snapshotOf = (report: DriverReport) => {
      const { gpus: _, driver: __, ...rest } = attribute({ ...observe(spec), report: known(report) });
      return rest;
    };
    const library = snapshotOf(await readByLibrary(machine));
    for (const report of [await readBySmi(machine), readBySimulation(machine)]) {
      assert.deepEqual(
        differences(library, snapshotOf(report)).filter((path) => !DETAIL.test(path)),
        [],
      );
    }
  });
}

test("what a source is said not to know is not known in some machine here", () => {
  for (const source of ["nvidia-smi", "sim"] as const) {
    assert.deepEqual([...met[source]].sort(), Object.keys(CANNOT_KNOW[source]).sort());
  }
});

/** The processes of a machine as /proc has them. */
function processesOf(machine: SameMachine): ProcessSpec[] {
  const pids = new Set(machine.flatMap(({ processes = [] }) => processes.map(({ pid }) => pid)));
  return [...pids].map((pid) => ({
    pid,
    touch: "context",
    on: machine.flatMap(({ processes = [] }, index) =>
      processes.some((process) => process.pid === pid) ? [index] : []
    ),
  }));
}

/** The places at which two plain values differ, list places as `*`. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  if (Object.is(a, b)) return [];
  if (!isBranch(a) || !isBranch(b)) return [path];
  if (Array.isArray(a) && Array.isArray(b) && a.length !== b.length) return [`${path}.length`];
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((key) => {
    const place = Array.isArray(a) ? "*" : key;
    return differences(left.get(key), right.get(key), path === "" ? place : `${path}.${place}`);
  });
}

function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
