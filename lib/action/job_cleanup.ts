/** Ends a job's own leftovers and proves what that gave back. Other people's processes are never touched. */
import { accountChange, remainingOf } from "../analysis/diff_account.ts";
import { attribute } from "../analysis/attribute.ts";
import type { GpuUuid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { quoteArguments } from "../core/text.ts";
import { type Bytes, bytes, type Milliseconds, milliseconds, sumBytes } from "../core/units.ts";
import type { AuditEvent, AuditScene } from "../model/audit.ts";
import { encodeAuditRecord } from "../model/audit_json.ts";
import type { Act } from "../model/cleanup.ts";
import type { Cleanup, Leftover } from "../model/diff.ts";
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
  /** Who is on record as having acted. */
  readonly by: AuditScene["by"];
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
  const planned = own.map(planAct);
  const record = (event: AuditEvent, act: Act) =>
    scene.audit.append(encodeAuditRecord({ ...placeOf(scene), at: world.clock.now(), event, act }));
  // What cannot be recorded is not done.
  for (const act of planned) record("intent", act);
  const acts = await Promise.all(planned.map((act) => endOne(act, options, world)));
  for (const act of acts) record("outcome", act);
  const settled = await scene.watch.settle("cleanup", scene.gpus, scene.interrupted);
  const now = attribute(await world.observe(options.source, options.look));
  return {
    acts: acts.map(({ pid, startTicks, outcome, signal }) => ({ pid, startTicks, outcome, signal })),
    freed: freedSince(scene, now),
    took: milliseconds(world.clock.monotonic() - startedAt),
    settleEnd: settled.end,
  };
}

/** What is meant to be done with a leftover. It has a start time: the job's own processes are known by it. */
function planAct({ holder, why }: Leftover): Act {
  const { pid, startTicks, class: name, evidence, argv, devices } = holder;
  if (!startTicks.ok) throw new Error(`Cannot end PID ${pid}: a process of the job has a start time`);
  const held = devices.map(({ contextBytes }) => contextBytes);
  return {
    pid,
    startTicks: startTicks.value,
    class: name,
    evidence: [...evidence, why],
    command: argv.ok ? quoteArguments(argv.value) : holder.name,
    signal: null,
    outcome: "planned",
    bytesBefore: held.every((each) => each.ok) ? sumBytes(held.map(({ value }) => value)) : null,
    bytesAfter: null,
    releaseMs: null,
  };
}

async function endOne(act: Act, { grace }: CleanupOptions, world: CleanupWorld): Promise<Act> {
  const { pid, startTicks } = act;
  const { outcome, signal } = await endProcess({ pid, startTicks }, { grace, objection }, world);
  return { ...act, outcome, signal };
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

function placeOf({ by, after: { host, simulated } }: CleanupScene): AuditScene {
  return { by, bootId: host.bootId, simulated };
}
