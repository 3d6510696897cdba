/** What every scene is made of: the server, the job's view of it, and how its processes begin and end. */
import process from "node:process";
import type { Ending } from "../../core/errors.ts";
import { milliseconds } from "../../core/units.ts";
import type { JobPlan } from "../../model/simulation.ts";
import type { Terminal, World } from "../../world/ports.ts";
import { chooseCudaDevices, type CudaHolding, type CudaView, startCuda, type StrayContext } from "./cuda.ts";
import { eraseEnvironment } from "./erase_environment.ts";
import { type Kernel, openKernel } from "./kernel.ts";
import { sweepMemory } from "./memory.ts";
import type { OrderFor, WorkerOrder } from "./orders.ts";
import { formatReady } from "./ready.ts";
import { readSimServer, type SimServer } from "./server.ts";
import { startWorker, type Worker, type WorkerOptions } from "./start_worker.ts";

/** The parts of the world that a job needs. */
export type JobWorld = Pick<World, "self" | "clock" | "variable"> & { readonly terminal: Output };
/** Where a job says that it is ready. */
export type Output = Pick<Terminal, "out">;

/** All that a scene is set with. */
export interface Stage {
  readonly plan: JobPlan;
  readonly server: SimServer;
  readonly view: CudaView;
  readonly kernel: Kernel;
  readonly world: JobWorld;
  /** Milliseconds since the epoch at which the scene is over; never without it. */
  readonly endsAt?: number;
  /** The workers so far. */
  readonly workers: Worker[];
}

/** A timer takes no more than 2^31 - 1 ms. */
const LONGEST_PAUSE = milliseconds(3_600_000);

/**
 * Gathers what a job needs.
 *
 * @throws {GpuctlError} if there is no such server, or the job sees no such GPU.
 */
export async function setStage(plan: JobPlan, world: JobWorld): Promise<Stage> {
  const server = readSimServer(plan.directory);
  const kernel = await openKernel();
  sweepMemory(server.directory, server.gpus.map(({ index }) => index), kernel.locks);
  const view = chooseCudaDevices(server, gpusOf(plan), {
    visibleDevices: plan.visibleDevices ?? world.variable("CUDA_VISIBLE_DEVICES"),
    deviceOrder: world.variable("CUDA_DEVICE_ORDER"),
  });
  const endsAt = plan.runFor === undefined ? undefined : Math.round(Date.now() + plan.runFor);
  return { plan, server, view, kernel, world, workers: [], ...endsAt !== undefined && { endsAt } };
}

function gpusOf({ scene, gpus, setsVariableLate }: JobPlan): readonly number[] {
  if (scene === "monitor") return [];
  // A variable that is set too late is not seen: the job gets the first GPUs there are.
  return setsVariableLate ? gpus.map((_, place) => place) : gpus;
}

/** Takes contexts and memory in this process, the memory of each GPU in equal parts. */
export function holdHere({ server, view, plan, kernel }: Stage, parts = 1): CudaHolding {
  // Before the first device is opened: from then on somebody may look.
  if (plan.erasesEnvironment) eraseEnvironment();
  return startCuda(
    server,
    { view, size: plan.size, parts, strays: straysOf(view, plan), imports: [] },
    kernel,
  );
}

/** The order for a worker with contexts of its own, on the job's GPUs unless it is given others. */
export function cudaOrder(
  stage: Stage,
  { then, size = stage.plan.size, used = stage.view.used }:
    & Pick<OrderFor<"cuda">, "then">
    & Partial<Pick<OrderFor<"cuda">, "size"> & Pick<CudaView, "used">>,
): OrderFor<"cuda"> {
  const { plan, view } = stage;
  return {
    role: "cuda",
    ...life(stage),
    used: [...used],
    visible: [...view.visible],
    size,
    strays: [...straysOf({ ...view, used }, plan), ...plan.hasPeerContexts ? peersOf(view, used) : []],
    imports: [],
    erasesEnvironment: plan.erasesEnvironment,
    then,
  };
}

/** The first GPU that a process sees, if it should have a context there by mistake and has none on purpose. */
function straysOf({ used, visible: [first] }: CudaView, { hasStrayContext }: JobPlan): StrayContext[] {
  const isAstray = hasStrayContext && first !== undefined && used.every(({ gpu }) => gpu !== first);
  return isAstray ? [{ place: { gpu: first }, hasTensor: true }] : [];
}

/** What the job uses and this process does not: the GPUs of the other ranks. */
function peersOf(job: CudaView, used: CudaView["used"]): StrayContext[] {
  return job.used.filter((place) => !used.includes(place)).map((place) => ({ place, hasTensor: false }));
}

/** The part of an order that is the same for every worker of a scene. */
export function life({ server, endsAt }: Stage) {
  return { directory: server.directory, main: process.pid, ...endsAt !== undefined && { endsAt } };
}

/** Starts a worker of the scene and waits until it stands. */
export async function start(
  stage: Stage,
  order: WorkerOrder,
  options: Omit<WorkerOptions, "self">,
): Promise<Worker> {
  const worker = await startWorker(order, { self: stage.world.self, ...options });
  stage.workers.push(worker);
  return worker;
}

/** Says that the scene stands and who holds the memory. */
export function sayReady({ world }: Stage, pids: readonly number[]): void {
  world.terminal.out(`${formatReady(pids)}\n`);
}

/** Says that the scene stands with this process as its holder, and stays until it is over. */
export async function stay(stage: Stage): Promise<Ending> {
  sayReady(stage, [process.pid]);
  await rest(stage);
  return "ok";
}

/** Ends the main process. One of those that it leaves behind then says that the scene stands. */
export function leave({ plan }: Stage): Ending {
  if (!plan.endsCleanly) process.kill(process.pid, "SIGKILL");
  return "ok";
}

/** Waits until the scene is over: for good where nobody has set its time. */
export async function rest({ world, endsAt = Infinity }: Stage): Promise<undefined> {
  for (let left = endsAt - Date.now(); left > 0; left = endsAt - Date.now()) {
    await world.clock.pause(milliseconds(Math.min(left, LONGEST_PAUSE)));
  }
}
