/**
 * The nvidia-smi of a simulated server, as far as a reset needs one: persistence mode, clocks, and the reset itself. It
 * refuses in the words of the real one, and a reset takes away what one takes away.
 */
import { type BusId, parseBusId } from "../../core/ids.ts";
import type { ToolRun } from "../../model/tool_run.ts";
import { findOpenNodes } from "./open_nodes.ts";
import {
  readDescription,
  readSimServer,
  type ServerDescription,
  type SimGpu,
  writeDescription,
} from "./server.ts";

/** Exit statuses of nvidia-smi(1): an argument that it does not know, no such GPU, and what has no status of its own. */
const [BAD_ARGUMENT, NOT_FOUND, OTHER] = [2, 6, 255];
const CLOCK_FLAGS = ["-rgc", "-rmc", "-rac"];
type GpuTable = NonNullable<NonNullable<ServerDescription["faults"]["gpu"]>[string]>;

/**
 * Runs `-i LIST` with `-r`, `-pm 0|1` or one of the flags that undo locked clocks.
 *
 * @throws {GpuctlError} if there is no such server
 */
export async function runSimSmi(directory: string, words: readonly string[]): Promise<ToolRun> {
  const { gpus } = readSimServer(directory);
  const [option, list = "", order, value] = words;
  const named = list.split(",").map((text) => gpus.find(({ busId }) => busId === readBusId(text)));
  const chosen = named.filter((gpu) => gpu !== undefined);
  if (option !== "-i" || chosen.length !== named.length) return ended(NOT_FOUND, "No devices were found\n");
  if (order === "-r") return await resetAll(directory, chosen);
  const isMode = order === "-pm" && (value === "0" || value === "1");
  if (!isMode && !CLOCK_FLAGS.includes(order ?? "")) {
    return ended(
      BAD_ARGUMENT,
      `Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n`,
    );
  }
  if (isMode) changeGpus(directory, chosen, (faults) => ({ ...faults, persistence: value === "1" }));
  return ended(0, "All done.\n");
}

async function resetAll(directory: string, gpus: readonly SimGpu[]): Promise<ToolRun> {
  const users = await findUsers(directory);
  const held = gpus.filter(({ minor, faults }) => faults.reset.hasPersistence || users.has(minor));
  if (held.length > 0) {
    const lines = held.map(({ busId }) => `  GPU ${busId.toUpperCase()}: In use by another client\n`);
    return ended(
      OTHER,
      `The following GPUs could not be reset:\n${lines.join("")}\n${describeUse(held.length)}\n`,
    );
  }
  changeGpus(directory, gpus, withoutPassing);
  const lines = gpus.map(({ busId }) => `GPU ${busId.toUpperCase()} was successfully reset.\n`);
  return ended(0, `${lines.join("")}All done.\n`);
}

/** The sentence of nvidia-smi, as drivers 450 to 580 have it. */
function describeUse(count: number): string {
  const [devices, these] = count === 1
    ? ["1 device is", "this device"]
    : [`${count} devices are`, "these devices"];
  return `${devices} currently being used by one or more other processes (e.g., Fabric Manager, CUDA application, ` +
    "graphics application such as an X server, or a monitoring application such as another instance of nvidia-smi). " +
    `Please first kill all processes using ${these} and all compute applications running in the system.`;
}

/** What is left of a GPU's faults: its name, its memory and how it is wired. */
function withoutPassing(faults: GpuTable): GpuTable {
  const kept = ["name", "memory", "nvlink-peers", "nvswitch", "architecture", "virtualization"] as const;
  const left = Object.entries(faults).filter(([key]) => kept.some((name) => name === key));
  return { ...Object.fromEntries(left), persistence: false };
}

function changeGpus(
  directory: string,
  gpus: readonly SimGpu[],
  change: (faults: GpuTable) => GpuTable,
): void {
  const description = readDescription(directory);
  const tables = description.faults.gpu ?? {};
  const changed = gpus.map(({ index }) => [String(index), change(tables[index] ?? {})] as const);
  const faults = { ...description.faults, gpu: { ...tables, ...Object.fromEntries(changed) } };
  writeDescription(directory, { ...description, faults });
}

/** The minors that somebody has open, whatever for. */
async function findUsers(directory: string): Promise<ReadonlySet<number>> {
  const nodes = [...(await findOpenNodes(directory)).values()].flat();
  return new Set(nodes.flatMap((node) => node.kind === "gpu" ? [node.minor] : []));
}

function readBusId(text: string): BusId | undefined {
  try {
    return parseBusId(text);
  } catch {
    return undefined; // No address names no GPU.
  }
}

function ended(status: number, text: string): ToolRun {
  return { kind: "ended", status, signal: undefined, text };
}
