/** Jobs on a simulated server, scene by scene, as measured on a real one. */
import { type Ending, GpuctlError } from "../../core/errors.ts";
import { bytes, milliseconds } from "../../core/units.ts";
import type { JobPlan, Scene } from "../../model/simulation.ts";
import type { ProcStat } from "../../model/process.ts";
import { findStat } from "../../proc/stat.ts";
import type { CudaHolding } from "./cuda.ts";
import { inheritedNodes, monitorNodes, openNodes } from "./nodes.ts";
import type { OrderFor } from "./orders.ts";
import {
  cudaOrder,
  holdHere,
  type JobWorld,
  leave,
  life,
  rest,
  sayReady,
  setStage,
  type Stage,
  start,
  stay,
} from "./stage.ts";
import { startGrowth } from "./growth.ts";
import type { Worker } from "./start_worker.ts";

/** A Python program that multiprocessing has started anew (Lib/multiprocessing/spawn.py, get_command_line). */
const SPAWNED = [
  "-c",
  "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)",
  "--multiprocessing-fork",
];
const TRACKER = ["-c", "from multiprocessing.resource_tracker import main;main(4)"];
/** torch.utils.data looks for its main process every 5 s (MP_STATUS_CHECK_INTERVAL) and takes a moment to leave. */
const LOADER_LEAVES_AFTER = 5500;
/** A card with 20 GiB of pinned host memory gave its memory back within 4.4 s. */
const RELEASE = { parts: 8, interval: 500 };
const POLL = milliseconds(2);

const SCENES: Readonly<Record<Scene, (stage: Stage) => Promise<Ending>>> = {
  plain: holdPlainly,
  monitor: onlyWatch,
  "forked-child": leaveForkedChild,
  "zombie-leader": (stage) =>
    supervise(stage, "lose-leader", ({ state, threads }) => state === "Z" && threads > 1),
  "spawn-orphans": leaveSpawnedWorkers,
  "dataloader-orphans": leaveLoaderWorkers,
  "ipc-importer": leaveImporter,
  stopped: (stage) => supervise(stage, "stop", ({ state }) => state === "T"),
  "slow-release": holdAndReleaseSlowly,
};

/**
 * Runs a job on a simulated server and says `ready PID` once its scene stands. Returns when its time is over; a scene
 * that leaves others behind ends this process at once.
 *
 * @throws {GpuctlError} if there is no such server, the job sees no such GPU, or too little memory is free.
 */
export async function holdMemory(plan: JobPlan, world: JobWorld): Promise<Ending> {
  const stage = await setStage(plan, world);
  try {
    return await (plan.ranks === undefined ? SCENES[plan.scene](stage) : launchRanks(stage, plan.ranks));
  } catch (error) {
    // Half a scene is none: nobody would end what is left of it.
    for (const worker of stage.workers) worker.kill();
    throw error;
  }
}

async function holdPlainly(stage: Stage): Promise<Ending> {
  const holding = holdHere(stage);
  const growing = stage.plan.growth === undefined
    ? undefined
    : startGrowth(stage, stage.plan.growth, holding);
  const ending = await stay(stage);
  growing?.[Symbol.dispose]();
  return ending;
}

function onlyWatch(stage: Stage): Promise<Ending> {
  openNodes(monitorNodes(stage.server), stage.kernel);
  return stay(stage);
}

async function leaveForkedChild(stage: Stage): Promise<Ending> {
  await fork(stage, holdHere(stage), { announces: [] });
  return leave(stage);
}

async function leaveLoaderWorkers(stage: Stage): Promise<Ending> {
  const holding = holdHere(stage);
  const leavesAfter = LOADER_LEAVES_AFTER;
  const first = await fork(stage, holding, { leavesAfter });
  await fork(stage, holding, { leavesAfter, announces: [first.pid] });
  return leave(stage);
}

async function leaveSpawnedWorkers(stage: Stage): Promise<Ending> {
  const order = cudaOrder(stage, { then: "outlive" });
  const first = await start(stage, order, { argv: SPAWNED });
  const second = await start(stage, { ...order, announces: [first.pid] }, { argv: SPAWNED });
  await start(stage, { role: "tracker", ...life(stage), workers: [first.pid, second.pid] }, {
    argv: TRACKER,
  });
  return leave(stage);
}

async function leaveImporter(stage: Stage): Promise<Ending> {
  const { allocations } = holdHere(stage);
  const order = {
    ...cudaOrder(stage, { then: "outlive", size: bytes(0) }),
    imports: allocations.map(({ place, path }) => ({ place, path })),
    announces: [],
  };
  await start(stage, order, { argv: SPAWNED });
  return leave(stage);
}

async function holdAndReleaseSlowly(stage: Stage): Promise<Ending> {
  const { contexts, allocations, others } = holdHere(stage, RELEASE.parts);
  const descriptors = [...contexts, ...allocations, ...others].map(({ descriptor }) => descriptor);
  await start(
    stage,
    { role: "releaser", ...life(stage), inherited: descriptors.length, interval: RELEASE.interval },
    { argv: ["release"], descriptors, isApart: true },
  );
  return await stay(stage);
}

/** Starts a holder that cannot speak for itself, says that the scene stands, and ends with it. */
async function supervise(
  stage: Stage,
  then: "stop" | "lose-leader",
  stands: (process: ProcStat) => boolean,
): Promise<Ending> {
  const worker = await start(stage, cudaOrder(stage, { then }), { argv: ["job"] });
  const find = () => findStat(`/proc/${worker.pid}`);
  for (let found = find(); found === undefined || !stands(found); found = find()) {
    if (found === undefined) {
      throw new GpuctlError("unavailable", "Cannot set the scene: its process has ended");
    }
    await stage.world.clock.pause(POLL);
  }
  sayReady(stage, [worker.pid]);
  const status = await Promise.race([worker.ended, rest(stage)]);
  if (status !== undefined) return { status };
  worker.kill();
  await worker.ended;
  return "ok";
}

/** Starts a child with this process's descriptors, as fork(2) would. */
function fork(
  stage: Stage,
  { nodes, nodeDescriptors, contexts, allocations, others }: CudaHolding,
  extra: Pick<OrderFor<"forked">, "leavesAfter" | "announces">,
): Promise<Worker> {
  const memory = [...contexts, ...allocations, ...others].map(({ descriptor }) => descriptor);
  const descriptors = [...nodeDescriptors, ...memory];
  return start(
    stage,
    { role: "forked", ...life(stage), nodes: inheritedNodes(nodes), inherited: descriptors.length, ...extra },
    { argv: ["forked"], descriptors },
  );
}

/** A launcher without a GPU and its ranks, one a GPU, as torchrun starts them. */
async function launchRanks(stage: Stage, count: number): Promise<Ending> {
  const { used } = stage.view;
  const workers: Worker[] = [];
  for (let rank = 0; rank < count; rank++) {
    const place = used[rank % used.length];
    const order = cudaOrder(stage, { then: "follow", used: place ? [place] : [] });
    const variables = {
      LOCAL_RANK: String(rank),
      RANK: String(rank),
      WORLD_SIZE: String(count),
      TORCHELASTIC_RUN_ID: "none",
    };
    workers.push(await start(stage, order, { argv: ["train.py"], variables }));
  }
  sayReady(stage, workers.map(({ pid }) => pid));
  const statuses = Promise.all(workers.map(({ ended }) => ended));
  const ended = await Promise.race([statuses, rest(stage)]);
  return ended ? { status: Math.max(...ended) } : "ok";
}
