/** Making a simulated server, and giving one that exists other faults. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errnoOf, GpuctlError } from "../../core/errors.ts";
import { cannotRead, failureOf, stateOfPlace } from "../../core/file_errors.ts";
import { valueOf } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import { bytes } from "../../core/units.ts";
import type { ServerPlan } from "../../model/simulation.ts";
import { readPidNamespace } from "../../proc/namespaces.ts";
import { type FaultsTable, parseFaults } from "./faults.ts";
import {
  buildServer,
  controlNodePath,
  descriptionPath,
  fakeUuid,
  gpuNodePath,
  memoryDirectory,
  readDescription,
  reserveOf,
  type ServerDescription,
  type SimServer,
  uvmNodePath,
  writeDescription,
} from "./server.ts";

/** An NVIDIA H200 and its driver, as measured. */
const DEFAULT_PLAN = { gpus: 2, name: "NVIDIA H200", memory: bytes(143_771 * 1024 ** 2) };
const DRIVER = { version: "580.159.04", libraryVersion: "580.159.04", cudaVersion: "13.0" };
/** NVIDIA's device minors are 0 to 247; 248 and above are other nodes. */
const MOST_GPUS = 248;
/** Long enough to be mapped page by page. */
const NODE_BYTES = 16 * 1024;

/**
 * Makes a simulated server in a directory. One that is there already keeps its GPUs and its jobs, and gets the faults
 * of the plan in place of those it had.
 *
 * @throws {GpuctlError} if the plan cannot be read, or is for other GPUs than there are.
 */
export function initSimServer(directory: string, plan: ServerPlan): SimServer {
  const faults = plan.faultsPath === undefined ? {} : readFaults(plan.faultsPath);
  const isNew = !existsSync(descriptionPath(directory));
  const description = isNew ? newDescription(plan, faults) : keepGpus(directory, plan, faults);
  const server = buildServer(directory, description);
  checkFaults(server, plan.faultsPath);
  try {
    if (isNew) makeParts(server);
    writeDescription(directory, description);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    const sentence = `Cannot make a simulated server in ${directory}: ${stateOfPlace(error)}`;
    throw new GpuctlError(failureOf(error), sentence, { cause: error });
  }
  return server;
}

function newDescription(plan: ServerPlan, faults: FaultsTable): ServerDescription {
  const { gpus, name, memory } = { ...DEFAULT_PLAN, ...plan };
  if (gpus > MOST_GPUS) {
    throw new GpuctlError("usage", `Cannot simulate ${gpus} GPUs: ${MOST_GPUS} is the most`);
  }
  return {
    schema: "gpuctl.sim/1",
    pidNamespace: valueOf(readPidNamespace("/proc/self")),
    driver: DRIVER,
    gpus: Array.from({ length: gpus }, (_, index) => ({
      index,
      uuid: `GPU-${fakeUuid(index, 0)}`,
      name,
      busId: `00000000:${(index + 1).toString(16).padStart(2, "0")}:00.0`,
      minor: index,
      memoryTotalBytes: memory,
      memoryReservedBytes: reserveOf(memory),
    })),
    faults,
  };
}

function keepGpus(directory: string, plan: ServerPlan, faults: FaultsTable): ServerDescription {
  const description = readDescription(directory);
  const { gpus } = description;
  const differs = plan.gpus !== undefined && plan.gpus !== gpus.length ||
    gpus.some(({ name, memoryTotalBytes }) =>
      name !== (plan.name ?? name) || memoryTotalBytes !== (plan.memory ?? memoryTotalBytes)
    );
  if (differs) {
    const found = `${plural(gpus.length, "GPU")}, ${gpus[0]?.name}`;
    throw new GpuctlError(
      "refused",
      `Cannot make a simulated server in ${directory}: there is one, with ${found}`,
      {
        hint:
          "without --gpus, --memory and --name only its faults change; another directory makes another server",
      },
    );
  }
  return { ...description, faults };
}

function checkFaults({ gpus, faults }: SimServer, path: string | undefined): void {
  const indexes = gpus.map(({ index }) => index);
  const stranger = [...faults.gpus.keys()].find((index) => !indexes.some((known) => known === index));
  const order = faults.cudaOrder?.toSorted((a, b) => a - b);
  const unlinked =
    [...faults.gpus].flatMap(([index, { reset }]) =>
      reset.nvlinkPeers.filter((peer) => peer === index || peer >= gpus.length).map((peer) => ({
        index,
        peer,
      }))
    )[0];
  const problem = unlinked !== undefined
    ? `gpu.${unlinked.index}.nvlink-peers: expected other GPUs of 0 to ${
      gpus.length - 1
    }, and there is ${unlinked.peer}`
    : stranger !== undefined
    ? `gpu.${stranger}: the server has GPUs 0 to ${gpus.length - 1}`
    : order !== undefined && order.join() !== indexes.join()
    ? `cuda-order: expected each of 0 to ${gpus.length - 1} once`
    : undefined;
  if (problem !== undefined) throw new GpuctlError("usage", `Cannot read the faults in ${path}: ${problem}`);
}

/** Every user may run jobs on the server, as on a real one: its nodes are for all, and so are its memory's folders. */
function makeParts({ directory, gpus }: SimServer): void {
  mkdirSync(join(directory, "dev"), { recursive: true });
  const nodes = gpus.map(({ minor }) => gpuNodePath(directory, minor));
  for (const path of [...nodes, controlNodePath(directory), uvmNodePath(directory)]) {
    writeFileSync(path, new Uint8Array(NODE_BYTES));
    chmodSync(path, 0o666);
  }
  for (const { index } of gpus) {
    mkdirSync(memoryDirectory(directory, index), { recursive: true });
    chmodSync(memoryDirectory(directory, index), 0o1777);
  }
}

function readFaults(path: string): FaultsTable {
  try {
    return parseFaults(readFileSync(path, "utf8"));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw cannotRead(path, error, { as: "the faults in" });
    throw new GpuctlError("usage", `Cannot read the faults in ${path}: ${error.message}`, { cause: error });
  }
}
