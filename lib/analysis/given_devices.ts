/** What a container or a Slurm job was given, as far as its own processes tell. */
import { printable, truncate } from "../core/text.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { AllowedDevice } from "../model/isolation.ts";
import type { Process } from "../model/process.ts";
import { isFirstOfNamespace } from "./lineage.ts";
import { parseNvidiaVisibleDevices } from "./nvidia_visible_devices.ts";
import { variableOf } from "./owners.ts";
import { parseVisibleDevices } from "./visible_devices.ts";

/** The devices with where that is known from; or why it is not known. */
export type Given =
  | { readonly isKnown: true; readonly devices: readonly AllowedDevice[]; readonly source: string }
  | { readonly isKnown: false; readonly why: string };

type Machine = Pick<DriverReport, "gpus" | "unreadableGpus">;

const SHOWN_CHARACTERS = 60;
/** Slurm's own lists of a job's and a step's GPUs, by the numbers of their device nodes (gres.conf). */
const SLURM_LISTS = ["SLURM_JOB_GPUS", "SLURM_STEP_GPUS"] as const;

/**
 * What the runtime was asked for when the container started: NVIDIA_VISIBLE_DEVICES of its first process.
 *
 * @param processes all of the container's, in any order
 */
export function findGivenToContainer(processes: readonly Process[], machine: Machine): Given {
  const firsts = processes.filter(isFirstOfNamespace);
  const [first] = (firsts.length > 0 ? firsts : processes).toSorted((a, b) => a.startTicks - b.startTicks);
  if (first === undefined) return unknown("none of its processes could be read");
  const who = `its first process, PID ${first.pid}`;
  if (!first.environment.ok) return unknown(`the environment of ${who}, could not be read`);
  const value = variableOf(first, "NVIDIA_VISIBLE_DEVICES");
  const request = parseNvidiaVisibleDevices(value, machine);
  if (value === undefined) {
    return unknown(`NVIDIA_VISIBLE_DEVICES is not set in ${who}`);
  }
  const source = `${show("NVIDIA_VISIBLE_DEVICES", value)} of ${who}`;
  if (request.kind === "none") return { isKnown: true, devices: [], source };
  if (request.kind !== "devices") return unknown(`${source} does not say which GPUs it was given`);
  if (request.unknown.length > 0 || machine.unreadableGpus.length > 0) {
    return unknown(`${source} names GPUs that this machine does not show`);
  }
  return { isKnown: true, devices: request.devices, source };
}

/**
 * What Slurm gave a job: its own list, or else UUIDs in CUDA_VISIBLE_DEVICES. Numbers there may count from the job's first
 * GPU (ConstrainDevices), and so name none for sure.
 *
 * @param processes all of the job's, in any order
 */
export function findGivenToSlurmJob(processes: readonly Process[], machine: Machine): Given {
  for (const name of [...SLURM_LISTS, "CUDA_VISIBLE_DEVICES"]) {
    const values = new Set(processes.flatMap((process) => variableOf(process, name) ?? []));
    const [value, other] = values;
    if (value === undefined) continue;
    if (other !== undefined) {
      // Steps may have parts of the job's GPUs; and whoever runs a process chooses what it is told.
      return unknown(`its processes have several values of ${name}`);
    }
    const devices = name === "CUDA_VISIBLE_DEVICES"
      ? devicesByUuid(value, machine)
      : devicesByNumber(value, machine);
    const source = `${show(name, value)} of its processes`;
    return devices ? { isKnown: true, devices, source } : unknown(`${source} names no GPUs for sure`);
  }
  return unknown(
    processes.some(({ environment }) => !environment.ok)
      ? "the environment of its processes could not be read"
      : `none of its processes has ${SLURM_LISTS.join(" or ")}`,
  );
}

/** `undefined` where a number need not be that of the driver: other minors, or GPUs that are divided. */
function devicesByNumber(value: string, { gpus, unreadableGpus }: Machine): AllowedDevice[] | undefined {
  const isPlain = ({ index, minor, migMode }: Gpu) =>
    minor.ok && Number(minor.value) === Number(index) && !(migMode.ok && migMode.value.current);
  if (unreadableGpus.length > 0 || !gpus.every(isPlain) || !/^\d{1,3}(?:,\d{1,3})*$/.test(value)) {
    return undefined;
  }
  const named = value.split(",").map((number) => gpus.find(({ index }) => index === Number(number)));
  return named.includes(undefined) ? undefined : named.flatMap((gpu) => gpu ? [{ gpu: gpu.uuid }] : []);
}

function devicesByUuid(value: string, machine: Machine): readonly AllowedDevice[] | undefined {
  const { entries, devices, end } = parseVisibleDevices(value, { ...machine, deviceOrder: undefined });
  const isByUuid = entries.every(({ entry }) => entry.kind === "uuid" || entry.kind === "mig-path");
  return isByUuid && end === "complete" && devices.length > 0 ? devices : undefined;
}

function show(name: string, value: string): string {
  return `${name}="${printable(truncate(value, SHOWN_CHARACTERS))}"`;
}

function unknown(why: string): Given {
  return { isKnown: false, why };
}
