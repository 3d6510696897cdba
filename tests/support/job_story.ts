/** A job told as looks at one machine: before, while it ran, while its memory came back, and after. */
import { attribute } from "../../lib/analysis/attribute.ts";
import { admitHiddenRows } from "../../lib/analysis/diff_hidden.ts";
import { diffJob, type JobEvidence, type Member } from "../../lib/analysis/diff_job.ts";
import { SettleWatch } from "../../lib/analysis/diff_settle.ts";
import { UsageTally } from "../../lib/analysis/diff_usage.ts";
import { type Pid, pid } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import { bytes, clockTicks, milliseconds } from "../../lib/core/units.ts";
import type { JobDiff, SettleEnd } from "../../lib/model/diff.ts";
import type { DriverReport } from "../../lib/model/gpu.ts";
import type { Snapshot } from "../../lib/model/snapshot.ts";
import { type MachineSpec, observe, type ProcessSpec, reportOf } from "./machine.ts";

export const MIB = 1024 ** 2;
export const TOLERANCE = bytes(MIB);

/** One look at some moment of the job; `"no answer"` for one that the driver left unanswered. */
export type Look = readonly [atMs: number, machine: MachineSpec | "no answer"];

export interface JobStory {
  readonly before: MachineSpec;
  readonly run?: readonly Look[];
  readonly settle?: readonly Look[];
  readonly after: MachineSpec;
  /** Pids that were found to be the job's. */
  readonly job?: readonly number[];
  /** Pids that were gone before they could be looked up. */
  readonly unplaced?: readonly number[];
  /** Those of the job that live at the end. */
  readonly alive?: readonly number[];
  readonly ranForMs?: number;
  readonly settleEnd?: SettleEnd;
  /** Changes one look's snapshot, for what a machine cannot say. */
  readonly edit?: { before?(snapshot: Snapshot): Snapshot; after?(snapshot: Snapshot): Snapshot };
}

/** This program itself, which takes the job's orphans in. */
export const GPUCTL: ProcessSpec = { pid: 99_999, program: "/usr/bin/gpuctl" };

/** A member as these machines have it: start ticks are ten times the pid. */
export function memberOf(id: number): Member {
  return {
    pid: pid(id),
    startTicks: clockTicks(id * 10),
    name: "python3",
    argv: known(["python3", "train.py"]),
  };
}

/** Puts the evidence of a story together. */
export function evidenceOf(story: JobStory): JobEvidence {
  const before = (story.edit?.before ?? same)(admitHiddenRows(attribute(observe(story.before))));
  const after = (story.edit?.after ?? same)(admitHiddenRows(attribute(observe(story.after))));
  const members = new Map<Pid, Member>((story.job ?? []).map((id) => [pid(id), memberOf(id)]));
  const unplaced = new Set((story.unplaced ?? []).map(pid));
  const isJobs = (id: Pid) => members.has(id) || unplaced.has(id);
  const tally = new UsageTally(TOLERANCE);
  const watch = new SettleWatch({
    before: before.gpus.map(({ gpu }) => gpu),
    tolerance: TOLERANCE,
    isTouched: () => true,
    isJobs,
  });
  for (const look of story.run ?? []) tally.add(sampleOf(look), isJobs);
  for (const look of story.settle ?? []) {
    tally.add(sampleOf(look), isJobs);
    watch.add(sampleOf(look));
  }
  return {
    command: ["python3", "train.py"],
    end: { kind: "exited", status: 0 },
    hasTimedOut: false,
    ranFor: milliseconds(story.ranForMs ?? 1000),
    settledFor: milliseconds(50),
    settleEnd: story.settleEnd ?? "settled",
    interval: milliseconds(100),
    tolerance: TOLERANCE,
    gpus: new Set(before.gpus.map(({ gpu }) => gpu.uuid)),
    before,
    after,
    tally,
    watch,
    membership: { members, unplaced },
    alive: (story.alive ?? []).map(memberOf),
    notes: [],
  };
}

/** Judges a story. */
export function tell(story: JobStory): JobDiff {
  return diffJob(evidenceOf(story));
}

export function sampleOf([at, machine]: Look) {
  const report = machine === "no answer" ? absent("timed-out") : known<DriverReport>(reportOf(machine));
  return { at: milliseconds(at), report };
}

function same(snapshot: Snapshot): Snapshot {
  return snapshot;
}
