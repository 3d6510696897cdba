import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  DEFAULT_CLASSES,
  type EndingPlan,
  type EndingPolicy,
  planEnding,
} from "../../../lib/analysis/ending.ts";
import { HOLDER_CLASSES, type HolderClass } from "../../../lib/model/snapshot.ts";
import { type MachineSpec, type ProcessSpec, timedLook } from "../../support/machine.ts";
import {
  DOCKER_ID,
  GPUCTL,
  HIDDEN,
  laterLook,
  LXC_NAME,
  machines,
  policies,
  processes,
  STRANGER,
} from "../../support/machine_arbitrary.ts";
import { DEFAULT_POLICY } from "../../support/machine_case.ts";

const RUNS = { numRuns: 1000 };
const ENDABLE: readonly HolderClass[] = [...DEFAULT_CLASSES, "detached", "stopped"];
const ENDED_STATES = ["Z", "X"];

interface Looks {
  readonly first: MachineSpec;
  readonly second: MachineSpec;
}

const looks: fc.Arbitrary<Looks> = machines.chain((first) =>
  laterLook(first).map((second) => ({ first, second }))
);

/** Two looks and a policy: the defaults, or anything. */
const situations = fc.tuple(looks, fc.oneof(fc.constant(DEFAULT_POLICY), policies));

/** The same without policies that leave a class of the defaults out. */
const wholeSituations = situations.map(([looks, policy]): [Looks, EndingPolicy] => [
  looks,
  { ...policy, classes: new Set([...policy.classes, ...DEFAULT_CLASSES]) },
]);

function plan({ first, second }: Looks, policy: EndingPolicy): EndingPlan {
  return planEnding(timedLook(first), timedLook(second), policy);
}

/** Pids that would be ended, each with its process at the second look. */
function actsOn(looks: Looks, policy: EndingPolicy) {
  return plan(looks, policy).acts.map((act) => {
    const process = looks.second.processes.find(({ pid }) => pid === act.identity.pid);
    assert.ok(process, `PID ${act.identity.pid} is on the machine`);
    return { act, process };
  });
}

function endedPids(looks: Looks, policy: EndingPolicy): ReadonlySet<number> {
  return new Set(plan(looks, policy).acts.map(({ identity }) => identity.pid));
}

function threadsOf({ state = "S", threadStates = [state] }: ProcessSpec) {
  return [state, ...threadStates];
}

function hasEnded(process: ProcessSpec): boolean {
  return threadsOf(process).every((state) => ENDED_STATES.includes(state));
}

function isContainerNamed({ owner }: ProcessSpec, { container }: EndingPolicy): boolean {
  const id = owner?.container?.id;
  if (id === DOCKER_ID) return container === DOCKER_ID || container === DOCKER_ID.slice(0, 12);
  return id === LXC_NAME && container === LXC_NAME;
}

test("planEnding() ends none but processes that both looks show, with one start time", () => {
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      for (const { act, process } of actsOn(looks, policy)) {
        const before = looks.first.processes.find(({ pid }) => pid === process.pid);
        assert.ok(before);
        assert.equal(before.startTicks ?? before.pid * 10, act.identity.startTicks);
        assert.equal(process.startTicks ?? process.pid * 10, act.identity.startTicks);
      }
    }),
    RUNS,
  );
});

test("planEnding() ends none but classes that were asked for and may be", () => {
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      for (const { class: name } of plan(looks, policy).acts) {
        assert.ok(ENDABLE.includes(name) && policy.classes.has(name), name);
      }
    }),
    RUNS,
  );
});

test("planEnding() ends neither PID 1, nor gpuctl or what it runs under, nor another user's process without root", () => {
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      for (const { process } of actsOn(looks, policy)) {
        assert.ok(![1, GPUCTL, ...looks.second.ancestors ?? []].includes(process.pid));
        if (looks.second.reader?.isRoot !== true) assert.equal(process.user?.uid ?? 1000, 1000);
      }
    }),
    RUNS,
  );
});

test("planEnding() ends nothing that waits in the kernel, is in a debugger or has ended already", () => {
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      for (const { process } of actsOn(looks, policy)) {
        assert.ok(!threadsOf(process).includes("D") && process.state !== "t" && !hasEnded(process));
      }
    }),
    RUNS,
  );
});

test("planEnding() ends no part of the machine and no monitor", () => {
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      for (const { process } of actsOn(looks, policy)) {
        assert.ok(
          !/nvidia-persistenced|Xorg|mps-server|conmon|slurmstepd|systemd|shim/.test(process.program ?? ""),
        );
        assert.notEqual(process.owner?.unit, "train.service");
        assert.ok(process.touch !== undefined && process.touch !== "monitor");
      }
    }),
    RUNS,
  );
});

test("planEnding() ends nothing inside a container, a PID namespace or a job that was neither named nor has ended", () => {
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      assert.ok(looks.second.reader?.isInitial === true || plan(looks, policy).acts.length === 0);
      for (const { act, process } of actsOn(looks, policy)) {
        const isNamed = isContainerNamed(process, policy) || policy.pids?.has(act.identity.pid) === true;
        const container = process.owner?.container;
        const isDeep = (process.namespacePids?.length ?? 1) > 1;
        if (act.class === "job-leftover") continue;
        if (isDeep) assert.ok(isContainerNamed(process, policy) && process.namespacePids?.at(-1) !== 1);
        if (container && !container.isMonitor) assert.ok(isNamed);
        const job = process.owner?.slurmJob;
        if (job !== undefined) assert.ok(isNamed || job === policy.slurmJob);
      }
    }),
    RUNS,
  );
});

test("planEnding() calls only that a dead process's memory which fork(2) has passed on, to nobody's child", () => {
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      const living = new Map(looks.second.processes.map((process) => [process.pid, process]));
      for (const { act, process } of actsOn(looks, policy)) {
        if (act.class !== "inherited") continue;
        assert.equal(process.touch, "inherited");
        assert.equal(process.mib, undefined);
        const parent = living.get(process.parent ?? 1);
        assert.ok(parent === undefined || !["context", "visible"].includes(parent.touch ?? ""));
        for (const sharer of Array.isArray(process.sharedWith) ? process.sharedWith : []) {
          assert.ok(living.get(sharer)?.touch !== "context");
        }
      }
    }),
    RUNS,
  );
});

test("planEnding() ends no more when something is named than when nothing is, other than inside what was named", () => {
  fc.assert(
    fc.property(looks, policies, (looks, policy) => {
      const { classes, minBytes, protect } = policy;
      const widest: EndingPolicy = { classes, minBytes, protect, minAge: DEFAULT_POLICY.minAge };
      const unnamed = endedPids(looks, widest);
      for (const { act, process } of actsOn(looks, { ...policy, minAge: widest.minAge })) {
        const isInside = isContainerNamed(process, policy) || process.owner?.slurmJob === policy.slurmJob;
        assert.ok(unnamed.has(act.identity.pid) || isInside || policy.pids?.has(act.identity.pid));
      }
    }),
    RUNS,
  );
});

test("planEnding() puts every holder into one of two lists, with a class and a reason", () => {
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      const { acts, kept } = plan(looks, policy);
      const holders = timedLook(looks.second).judgement.holders.map(({ facts }) => facts.process.pid);
      const told = [...acts.map(({ identity }) => identity.pid), ...kept.map(({ pid }) => pid)];
      assert.deepEqual(told.toSorted(), holders.toSorted());
      for (const { class: name } of [...acts, ...kept]) assert.ok(HOLDER_CLASSES.includes(name));
      assert.ok(kept.every(({ why }) => why !== "") && acts.every(({ evidence }) => evidence.length > 0));
    }),
    RUNS,
  );
});

test("planEnding() depends on the machine alone, not on the order in which it is read", () => {
  const reversed = (spec: MachineSpec): MachineSpec => ({ ...spec, processes: spec.processes.toReversed() });
  const classesOf = (spec: MachineSpec) =>
    timedLook(spec).judgement.holders.map(({ facts, verdict }) => [facts.process.pid, verdict.class]);
  fc.assert(
    fc.property(situations, ([looks, policy]) => {
      assert.deepEqual(plan(looks, policy), plan(looks, policy));
      const other = { first: reversed(looks.first), second: reversed(looks.second) };
      assert.deepEqual(classesOf(other.second), classesOf(looks.second));
      assert.deepEqual(endedPids(other, policy), endedPids(looks, policy));
    }),
    RUNS,
  );
});

test("planEnding() ends nothing more when an unrelated process is there as well", () => {
  // One that has ended and is still listed would be a ghost, which is no stranger to whoever keeps its memory.
  const strangers = processes(STRANGER).filter((process) => !hasEnded(process));
  fc.assert(
    fc.property(wholeSituations, strangers, ([looks, policy], stranger) => {
      const before = endedPids(looks, policy);
      const add = (spec: MachineSpec): MachineSpec => ({ ...spec, processes: [...spec.processes, stranger] });
      for (const added of endedPids({ first: add(looks.first), second: add(looks.second) }, policy)) {
        assert.ok(before.has(added) || added === STRANGER, `PID ${added}`);
      }
    }),
    RUNS,
  );
});

test("planEnding() ends nothing more when less can be seen", () => {
  const blinds = fc.oneof(
    fc.tuple(fc.nat({ max: 7 }), fc.constantFrom(...HIDDEN)).map(([place, part]) => (spec: MachineSpec) => ({
      ...spec,
      processes: spec.processes.map((process, at) =>
        at === place ? { ...process, hides: [...process.hides ?? [], part] } : process
      ),
    })),
    fc.constant((spec: MachineSpec): MachineSpec => ({
      ...spec,
      processes: spec.processes.map((process) => ({ ...process, sharedWith: "not-supported" })),
    })),
    fc.constant(({ supervisors: _, ...spec }: MachineSpec): MachineSpec => spec),
    fc.constant((spec: MachineSpec): MachineSpec => ({
      ...spec,
      reader: { ...spec.reader, cutShort: "timed-out" },
    })),
  );
  fc.assert(
    fc.property(wholeSituations, blinds, ([looks, policy], blind) => {
      const before = endedPids(looks, policy);
      for (const pid of endedPids({ first: blind(looks.first), second: blind(looks.second) }, policy)) {
        assert.ok(before.has(pid), `PID ${pid}`);
      }
    }),
    RUNS,
  );
});
