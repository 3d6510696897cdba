import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { observe, type ProcessSpec } from "../../support/machine.ts";
import { machines } from "../../support/machine_arbitrary.ts";

interface JobSpec {
  readonly hasAgent: boolean;
  readonly port: string;
  readonly ranks: readonly number[];
  readonly hasWorkers: boolean;
}

const RANKS = [0, 1, 2, 3];
const jobs: fc.Arbitrary<readonly JobSpec[]> = fc.array(
  fc.record({
    hasAgent: fc.boolean(),
    port: fc.constantFrom("29500", "29501"),
    ranks: fc.subarray(RANKS, { minLength: 1 }),
    hasWorkers: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

/** The processes of the n-th job, whose pids are of its own hundred. It began an hour after the one before. */
function processesOf({ hasAgent, port, ranks, hasWorkers }: JobSpec, place: number): ProcessSpec[] {
  const first = 100 * (place + 1);
  const startTicks = 360_000 * (place + 1);
  return [
    ...(hasAgent ? [{ pid: first, startTicks, argv: ["python3", "torchrun"] }] : []),
    ...ranks.flatMap((rank): ProcessSpec[] => {
      const environment = { TORCHELASTIC_RUN_ID: "none", MASTER_PORT: port, RANK: String(rank) };
      const [pid, parent] = [first + 10 + rank, hasAgent ? first : 1];
      return [
        { pid, parent, startTicks, environment, touch: "context" },
        ...(hasWorkers
          ? [{ pid: pid + 10, parent: pid, startTicks, environment, touch: "inherited" as const }]
          : []),
      ];
    }),
  ];
}

test("findHolderJobs() never takes two jobs for one, whatever they have in common and whoever of them lives", () => {
  fc.assert(fc.property(jobs, (specs) => {
    const processes = specs.flatMap(processesOf);
    const { holders } = attribute(observe({ processes, ticks: 10_000_000 }));
    const jobOf = (pid: number) => Math.floor(pid / 100);
    for (const { pid, job } of holders) {
      if (job !== undefined) assert.equal(jobOf(job.firstPid), jobOf(pid));
    }
    for (const [place, { hasAgent, ranks, hasWorkers }] of specs.entries()) {
      const own = holders.filter(({ pid }) => jobOf(pid) === place + 1);
      assert.equal(own.length, ranks.length * (hasWorkers ? 2 : 1));
      if (hasAgent) assert.deepEqual(new Set(own.map(({ job }) => job?.firstPid)), new Set([own[0]?.pid]));
    }
  }));
});

test("findHolderJobs() calls a job after its lowest pid, and by one name", () => {
  fc.assert(fc.property(machines, (machine) => {
    const { holders } = attribute(observe(machine));
    for (const { job } of holders) {
      if (job === undefined) continue;
      const own = holders.filter((other) =>
        other.job?.firstPid === job.firstPid && other.job.launcher === job.launcher
      );
      assert.equal(Math.min(...own.map(({ pid }) => pid)), job.firstPid);
      assert.deepEqual(new Set(own.map((other) => other.job?.name)), new Set([job.name]));
    }
  }));
});
