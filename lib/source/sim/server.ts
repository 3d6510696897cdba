/** A simulated server on disk: where its parts lie and what its description says. */
import { readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { errnoOf, GpuctlError } from "../../core/errors.ts";
import { cannotRead } from "../../core/file_errors.ts";
import {
  type BusId,
  type DeviceMinor,
  deviceMinor,
  type GpuIndex,
  gpuIndex,
  type GpuUuid,
  gpuUuid,
  parseBusId,
} from "../../core/ids.ts";
import { type Bytes, bytes } from "../../core/units.ts";
import { type Faults, FAULTS_SCHEMA, type GpuFaults, SOUND } from "./faults.ts";
import { madeBy } from "./fields.ts";
import type { Candidate } from "./visible.ts";

/** One GPU of a simulated server, its faults already applied. */
export interface SimGpu {
  readonly index: GpuIndex;
  readonly uuid: GpuUuid;
  readonly name: string;
  readonly busId: BusId;
  readonly minor: DeviceMinor;
  readonly memoryTotal: Bytes;
  readonly memoryReserved: Bytes;
  readonly faults: GpuFaults;
}

export interface SimServer {
  readonly directory: string;
  /** The PID namespace that it was made in: to a simulated server what the kernel's first one is to a machine. */
  readonly pidNamespace: string | undefined;
  readonly driver: {
    readonly version: string;
    readonly libraryVersion: string;
    readonly cudaVersion: string;
  };
  readonly gpus: readonly SimGpu[];
  readonly faults: Faults;
}

const DEVICE_ORDERS = ["FASTEST_FIRST", "PCI_BUS_ID"];
const MEBIBYTE = 1024 ** 2;
const COUNT = madeBy(v.number(), bytes);
const SCHEMA = v.strictObject({
  schema: v.literal("gpuctl.sim/1"),
  pidNamespace: v.optional(v.string()),
  driver: v.strictObject({ version: v.string(), libraryVersion: v.string(), cudaVersion: v.string() }),
  gpus: v.array(v.strictObject({
    index: madeBy(v.number(), gpuIndex),
    uuid: madeBy(v.string(), gpuUuid),
    name: v.string(),
    busId: madeBy(v.string(), parseBusId),
    minor: madeBy(v.number(), deviceMinor),
    memoryTotalBytes: COUNT,
    memoryReservedBytes: COUNT,
  })),
  faults: FAULTS_SCHEMA,
});

/** What `server.json` holds. */
export type ServerDescription = v.InferInput<typeof SCHEMA>;

/** The file that says what the server is. */
export function descriptionPath(directory: string): string {
  return join(directory, "server.json");
}

/** The file that stands for /dev/nvidiaN. */
export function gpuNodePath(directory: string, minor: number): string {
  return join(directory, "dev", `nvidia${minor}`);
}

/** The file that stands for /dev/nvidiactl. */
export function controlNodePath(directory: string): string {
  return join(directory, "dev", "nvidiactl");
}

/** The file that stands for /dev/nvidia-uvm. */
export function uvmNodePath(directory: string): string {
  return join(directory, "dev", "nvidia-uvm");
}

/** Where the files that stand for a GPU's memory lie. */
export function memoryDirectory(directory: string, index: number): string {
  return join(directory, "mem", `gpu${index}`);
}

/**
 * Reads what a simulated server is.
 *
 * @throws {GpuctlError} if there is none, or its description is damaged.
 */
export function readSimServer(directory: string): SimServer {
  const description = readDescription(directory);
  // As /proc names its files.
  return buildServer(realpathSync(directory), description);
}

/**
 * Reads `server.json` as it stands.
 *
 * @throws {GpuctlError} if there is none, or it is damaged.
 */
export function readDescription(directory: string): ServerDescription {
  const path = descriptionPath(directory);
  const json = readJson(path, directory);
  if (v.is(SCHEMA, json)) return json;
  const issue = v.safeParse(SCHEMA, json).issues?.[0];
  const place = issue && v.getDotPath(issue);
  throw new GpuctlError("unavailable", `Cannot read ${path}: ${place ? `${place}: ` : ""}${issue?.message}`);
}

/** Whoever looks at the server meanwhile finds the old description or the new one, never half of one. */
export function writeDescription(directory: string, description: ServerDescription): void {
  const path = descriptionPath(directory);
  writeFileSync(`${path}.new`, `${JSON.stringify(description, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}

/** The server that a description describes, its faults applied. */
export function buildServer(directory: string, description: ServerDescription): SimServer {
  const { driver, gpus, faults, pidNamespace } = v.parse(SCHEMA, description);
  return {
    directory,
    pidNamespace,
    driver,
    faults,
    gpus: gpus.map(({ memoryTotalBytes, memoryReservedBytes, ...gpu }) => {
      const own = faults.gpus.get(gpu.index) ?? SOUND;
      return {
        ...gpu,
        name: own.name ?? gpu.name,
        memoryTotal: own.memory ?? memoryTotalBytes,
        memoryReserved: own.memory === undefined ? memoryReservedBytes : reserveOf(own.memory),
        faults: own,
      };
    }),
  };
}

function readJson(path: string, directory: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (errnoOf(error) === "ENOENT") {
      throw new GpuctlError(
        "unavailable",
        `Cannot find a simulated server in ${directory}: it has no server.json`,
        {
          hint: `gpuctl sim init ${directory} makes one`,
          cause: error,
        },
      );
    }
    throw cannotRead(path, error);
  }
}

/** The GPUs as CUDA numbers them, before CUDA_VISIBLE_DEVICES. With a CUDA_DEVICE_ORDER that it does not know it finds none. */
export function cudaCandidates({ gpus, faults }: SimServer, deviceOrder: string | undefined): Candidate[] {
  if (deviceOrder !== undefined && !DEVICE_ORDERS.includes(deviceOrder)) return [];
  const order = deviceOrder === "PCI_BUS_ID" ? undefined : faults.cudaOrder;
  const ordered = order?.flatMap((index) => gpus.find((gpu) => gpu.index === index) ?? []) ?? gpus;
  return ordered.filter((gpu) => !gpu.faults.isLost).map((gpu) => ({
    index: gpu.index,
    uuid: gpu.uuid,
    migDevices: gpu.faults.mig.map((mig, place) => ({ ...mig, uuid: migUuid(gpu.index, place) })),
  }));
}

/** What the driver keeps for itself: 615 MiB of an H200 (driver 580.159.04), less of a small card. */
export function reserveOf(memory: Bytes): Bytes {
  const share = Math.floor(memory / 128 / MEBIBYTE) * MEBIBYTE;
  return bytes(Math.min(615 * MEBIBYTE, share));
}

/** The stable, made-up UUID of a GPU's nth MIG device. */
export function migUuid(index: number, place: number): GpuUuid {
  return gpuUuid(`MIG-${fakeUuid(index, place + 1)}`);
}

/** A stable, made-up UUID: unlike for each GPU from the first block on, so that a beginning can name one. */
export function fakeUuid(index: number, variant: number): string {
  const gpu = index.toString(16);
  return `51300${gpu.padStart(3, "0")}-0000-4000-8000-${variant.toString(16).padStart(4, "0")}${
    gpu.padStart(8, "0")
  }`;
}
