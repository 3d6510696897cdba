/** Resets as people meet them, by name: what a renderer draws and what a document is made of. */
import { findBlockers, findClockBlockers } from "../../lib/analysis/reset_blockers.ts";
import { judgeResetNeeds } from "../../lib/analysis/reset_need.ts";
import { planClocks, planReset } from "../../lib/analysis/reset_plan.ts";
import { judgeResetResult } from "../../lib/analysis/reset_result.ts";
import { absent, known } from "../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../lib/core/units.ts";
import type { Reset, ResetStep } from "../../lib/model/reset.ts";
import type { ResetInput } from "../../lib/analysis/reset_input.ts";
import { logOf, resetInput, type ResetScene, service, xid } from "./reset_scene.ts";

const ROOT = { uid: 0, name: "root" };
const GIB = 1024 ** 3;
const ENEMY = "\x1b[2J\x1b]0;owned\x07\n";

/** A GPU that asks for a reset, with persistence mode on and nobody on it. */
const READY: ResetScene = {
  gpus: {
    0: { recoveryAction: known("reset"), persistenceMode: known(true), memoryUsed: known(bytes(40 * GIB)) },
  },
  facts: { kernelLog: logOf(xid(119, 90e6, "Timeout waiting for RPC from GSP!", 812)) },
};

/** A workstation on whose GPUs everybody sits: a training, a leftover, a desktop, two daemons. */
const STATION: ResetScene = {
  chosen: [0, 1],
  machine: {
    gpus: [{}, {}],
    processes: [
      { pid: 500, program: "/usr/bin/bash" },
      { pid: 812, touch: "context", mib: 42_166, parent: 500 },
      {
        pid: 901,
        touch: "context",
        on: [1],
        owner: { cgroup: "/system.slice/slurmstepd.scope/job_77", isCgroupDeleted: true },
      },
      {
        pid: 2180,
        program: "/usr/bin/nv-hostengine",
        argv: ["nv-hostengine", "-n"],
        touch: "monitor",
        on: [0, 1],
        user: ROOT,
        owner: { cgroup: "/system.slice/nvidia-dcgm.service", unit: "nvidia-dcgm.service" },
      },
      {
        pid: 2890,
        program: "/usr/bin/nvidia-persistenced",
        argv: ["/usr/bin/nvidia-persistenced", "--verbose"],
        touch: "monitor",
        on: [0, 1],
        user: ROOT,
      },
      { pid: 3392, program: "/usr/lib/xorg/Xorg", argv: ["/usr/lib/xorg/Xorg", "vt1"], touch: "visible" },
    ],
  },
  gpus: {
    0: { persistenceMode: known(true), displayActive: known(true) },
    1: { persistenceMode: known(true) },
  },
  facts: {
    services: known([
      service("nvidia-dcgm.service", "dcgm", 2180),
      service("nvidia-persistenced.service", "persistence-daemon", 2890),
      service("gdm.service", "display-manager"),
    ]),
    kernelLog: absent("no-permission", "/dev/kmsg"),
  },
};

/** A process that calls itself what would clear the screen, in a unit that would run a command. */
const HOSTILE: ResetScene = {
  machine: {
    processes: [
      {
        pid: 666,
        argv: [`a${ENEMY}`, "\u202egpj.exe"],
        touch: "monitor",
        user: { uid: 1001, name: `eve${ENEMY}` },
      },
      {
        pid: 667,
        argv: [],
        comm: `x${ENEMY}`,
        touch: "monitor",
        owner: { cgroup: "/system.slice/slurmstepd.scope/job_$(reboot)", slurmJob: "$(reboot)" },
      },
    ],
  },
  gpus: { 0: { recoveryAction: absent("not-supported"), name: known(`NVIDIA ${ENEMY}`) } },
  facts: { kernelLog: logOf(xid(95, 5e6, ENEMY)) },
};

function planOf(scene: ResetScene): { readonly input: ResetInput; readonly reset: Reset } {
  const input = resetInput(scene);
  const needs = judgeResetNeeds(input);
  const blockers = findBlockers(input, needs);
  const reset: Reset = {
    takenAt: "2026-11-30T12:00:00.000Z",
    simulated: false,
    needs,
    blockers,
    steps: planReset(input, blockers),
    results: [],
    outcome: "plan",
    problems: [],
  };
  return { input, reset };
}

/** Only the clocks of a GPU at work. */
function planOfClocks(): Reset {
  const { input, reset } = planOf({ machine: { processes: [{ pid: 812, touch: "context" }] } });
  const blockers = findClockBlockers(input);
  const steps = planClocks(input, blockers, { graphics: true, memory: true, applications: false });
  return { ...reset, blockers, steps };
}

const clocks = planOfClocks();
const ready = planOf(READY);
const before = ready.input.gpus;
const healthy = resetInput().gpus[0];

/** Marks the steps as done, but for those kinds that went otherwise. */
function carriedOut(changes: Partial<Record<ResetStep["kind"], Partial<ResetStep>>> = {}): ResetStep[] {
  return ready.reset.steps.map((step) => ({
    ...step,
    state: "done",
    took: milliseconds(1200),
    ...changes[step.kind],
  }));
}

const REFUSED = "somebody still uses the GPU\nGPU 00000000:00:00.0: In use by another client";

/** Every one by its name. */
export const RESETS = {
  ready: ready.reset,
  station: planOf(STATION).reset,
  "station-with-flags": planOf({ ...STATION, flags: { evict: true, stopServices: true } }).reset,
  hostile: planOf(HOSTILE).reset,
  "nothing-to-mend": planOf({}).reset,
  clocks,
  "clocks-done": {
    ...clocks,
    outcome: "done",
    steps: clocks.steps.map((step) => ({ ...step, state: "done", took: milliseconds(90) })),
  },
  blocked: { ...planOf({ ...READY, flags: { isRoot: false } }).reset, outcome: "blocked" },
  done: {
    ...ready.reset,
    outcome: "done",
    steps: carriedOut(),
    results: before.map((gpu) => judgeResetResult(gpu, healthy)),
  },
  failed: {
    ...ready.reset,
    outcome: "failed",
    steps: carriedOut({
      reset: { state: "failed", answer: REFUSED },
      "persistence-on": { state: "timed-out" },
      "read-again": { state: "skipped" },
    }),
  },
  "not-back": {
    ...ready.reset,
    simulated: true,
    outcome: "not-back",
    steps: carriedOut(),
    results: before.map((gpu) => judgeResetResult(gpu, gpu)),
    problems: [{ subject: "host", reason: absent("failed"), message: "The host's name cannot be read" }],
  },
  interrupted: { ...ready.reset, outcome: "interrupted", steps: carriedOut({ reset: { state: "skipped" } }) },
} as const satisfies Record<string, Reset>;
