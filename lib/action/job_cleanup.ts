/** Ends a job's own leftovers and proves what that gave back. Other people's processes are never touched. */
import { accountChange, remainingOf } from "../analysis/diff_account.ts";
import { attribute } from "../analysis/attribute.ts";
import type { GpuUuid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { type Bytes, bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import type { Cleanup, Leftover, LeftoverAct } from "../model/diff.ts";
import type { Gpu } from "../model/gpu.ts";
import type { ProcStat } from "../model/process.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { AuditLog, LookOptions, World } from "../world/ports.ts";
import type { Alarm } from "./alarm.ts";
import { endProcess } from "./end_process.ts";
import type { JobWatch } from "./job_watch.ts";

export interface CleanupScene {
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly watch: JobWatch;
  readonly gpus: ReadonlySet<GpuUuid>;
  readonly interrupted: Alarm;
  readonly audit: AuditLog;
}

export interface CleanupOptions {
  readonly grace: Milliseconds;
  readonly look: LookOptions;
  readonly source: LiveSource;
}

export type CleanupWorld = Pick<World, "clock" | "processes" | "observe">;

/** Ends the leftovers that are the job's own, waits for their memory and reads it again. */
export async function cleanLeftovers(
  leftovers: readonly Leftover[],
  scene: CleanupScene,
  options: CleanupOptions,
  world: CleanupWorld,
): Promise<Cleanup> {
  const startedAt = world.clock.monotonic();
  const own = leftovers.filter(({ isJobs }) => isJobs);
  // What cannot be recorded is not done.
  for (const leftover of own) scene.audit.append(recordOf("intent", leftover, scene.after, world));
  const acts = await Promise.all(own.map((leftover) => endOne(leftover, options, world)));
  for (const [place, leftover] of own.entries()) {
    scene.audit.append({
      ...recordOf("outcome", leftover, scene.after, world),
      outcome: acts[place]?.outcome ?? null,
    });
  }
  const settled = await scene.watch.settle("cleanup", scene.gpus, scene.interrupted);
  const now = attribute(await world.observe(options.source, options.look));
  return {
    acts,
    freed: freedSince(scene, now),
    took: milliseconds(world.clock.monotonic() - startedAt),
    settleEnd: settled.end,
  };
}

async function endOne(
  { holder }: Leftover,
  { grace }: CleanupOptions,
  world: CleanupWorld,
): Promise<LeftoverAct> {
  const { pid } = holder;
  if (!holder.startTicks.ok) throw new Error(`Cannot end PID ${pid}: a process of the job has a start time`);
  const identity = { pid, startTicks: holder.startTicks.value };
  const { outcome, signal } = await endProcess(identity, { grace, objection }, world);
  return { ...identity, outcome, signal };
}

/** State D is reported, never signalled. */
function objection({ state }: ProcStat): string | undefined {
  return state === "D" ? "is in state D" : undefined;
}

/** What the job had left and has given back since, over all GPUs that could be read before. */
function freedSince({ before, after, watch, gpus }: CleanupScene, now: Snapshot): Reading<Bytes> {
  let freed = 0;
  for (const { gpu } of before.gpus) {
    const was = gpus.has(gpu.uuid) ? remainingOn(gpu, after, watch) : undefined;
    if (!was?.ok) continue;
    const is = remainingOn(gpu, now, watch);
    if (!is.ok) return is;
    freed += Math.max(0, was.value - is.value);
  }
  return known(bytes(freed));
}

function remainingOn(before: Gpu, snapshot: Snapshot, { members }: JobWatch): Reading<Bytes> {
  const found = snapshot.gpus.find(({ gpu }) => gpu.uuid === before.uuid);
  if (!found) return absent("lost", "it is not listed any more");
  return remainingOf(accountChange(before, found.gpu, members.isJobs));
}

function recordOf(
  event: "intent" | "outcome",
  { holder, why }: Leftover,
  after: Snapshot,
  { clock }: CleanupWorld,
) {
  return {
    schema: "gpuctl.audit/1",
    at: clock.now(),
    event,
    bootId: after.host.bootId.ok ? after.host.bootId.value : null,
    simulated: after.simulated,
    act: {
      pid: holder.pid,
      startTicks: holder.startTicks.ok ? holder.startTicks.value : null,
      class: holder.class,
      evidence: holder.evidence,
      why,
    },
  };
}
