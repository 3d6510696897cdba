/** What the driver of a simulated server says: from its description and the memory that is held, nothing else. */
import type { Pid } from "../../core/ids.ts";
import { absent, known, type Reading } from "../../core/reading.ts";
import { type Bytes, bytes, type Percent, percent, sumBytes } from "../../core/units.ts";
import type { GpuHealth } from "../../model/gpu_health.ts";
import type { Context, DriverReport, Gpu, MigInstance, ProcessList } from "../../model/gpu.ts";
import type { LookExtras } from "../../world/ports.ts";
import type { MigPlace } from "./allocation.ts";
import { describeHealth } from "./health.ts";
import type { HeldMemory } from "./memory.ts";
import { migUuid, type SimGpu, type SimServer } from "./server.ts";

/** Held memory and who the driver charges it to; `undefined` for a process that is not visible from here. */
export interface ChargedMemory extends HeldMemory {
  readonly owner: Pid | undefined;
}

/** Describes a server as its driver would. */
export function describeServer(
  server: SimServer,
  memory: readonly ChargedMemory[],
  { withUtilization, withHealth }: LookExtras,
): DriverReport {
  const { driver, gpus, faults } = server;
  return {
    driver: {
      version: known(driver.version),
      libraryVersion: known(driver.libraryVersion),
      cudaVersion: known(driver.cudaVersion),
    },
    gpus: gpus.filter((gpu) => !gpu.faults.isLost).map((gpu) =>
      describeGpu(gpu, chargeOnce(memory.filter((held) => held.gpu === gpu.index)), {
        withUtilization,
        memoryApi: faults.memoryApi,
        ...withHealth && { health: describeHealth(gpu, gpus) },
      })
    ),
    unreadableGpus: gpus.filter((gpu) => gpu.faults.isLost).map(({ index }) => ({
      index,
      reason: absent("lost", "GPU is lost"),
    })),
  };
}

/** Memory that is held under several names counts once: for its creator, or after its end for the first importer. */
export function chargeOnce<Held extends HeldMemory>(memory: readonly Held[]): Held[] {
  const charged = new Map<bigint, Held>();
  const creatorsFirst = memory.toSorted((a, b) => rank(a) - rank(b) || a.name.pid - b.name.pid);
  for (const held of creatorsFirst) {
    if (!charged.has(held.inode)) charged.set(held.inode, held);
  }
  return [...charged.values()];
}

function rank({ name }: HeldMemory): number {
  return name.kind === "import" ? 1 : 0;
}

interface View {
  readonly withUtilization: boolean;
  readonly memoryApi: "v1" | "v2";
  /** Where it was asked for. */
  readonly health?: GpuHealth;
}

function describeGpu(
  gpu: SimGpu,
  memory: readonly ChargedMemory[],
  { withUtilization, memoryApi, health }: View,
): Gpu {
  const { faults, memoryTotal, memoryReserved } = gpu;
  const used = bytes(sumBytes(memory.map(({ size }) => size)) + faults.unattributed);
  const hasMig = faults.mig.length > 0;
  return {
    index: gpu.index,
    uuid: gpu.uuid,
    name: known(gpu.name),
    busId: known(gpu.busId),
    minor: known(gpu.minor),
    memoryTotal: known(memoryTotal),
    memoryFree: known(bytes(Math.max(0, memoryTotal - memoryReserved - used))),
    ...memoryApi === "v1"
      ? {
        memoryUsed: known(bytes(used + memoryReserved)),
        memoryReserved: absent("not-supported"),
        usedIncludesReserve: known(true),
      }
      : { memoryUsed: known(used), memoryReserved: known(memoryReserved), usedIncludesReserve: known(false) },
    utilization: describeUtilization(faults.isUtilizationLatched, { withUtilization, hasMig }),
    persistenceMode: known(faults.reset.hasPersistence),
    computeMode: known("default"),
    displayActive: known(faults.reset.hasDisplay),
    migMode: known({ current: hasMig, pending: hasMig }),
    migInstances: known(faults.mig.map((mig, place): MigInstance => ({
      uuid: migUuid(gpu.index, place),
      gpuInstance: known(mig.gpuInstance),
      computeInstance: known(mig.computeInstance),
      profile: known(mig.profile),
      memoryTotal: known(mig.memory),
      memoryUsed: known(sumBytes(
        memory.filter(({ name }) => name.mig?.gpuInstance === mig.gpuInstance).map(({ size }) => size),
      )),
    }))),
    recoveryAction: known(faults.recoveryAction),
    processList: describeProcesses(gpu, memory),
    ...health && { health },
  };
}

/** Utilization of a GPU in MIG mode is not supported, neither of the whole nor of a part (nvmlDeviceGetUtilizationRates). */
function describeUtilization(
  isLatched: boolean,
  { withUtilization, hasMig }: { readonly withUtilization: boolean; readonly hasMig: boolean },
): Reading<Percent> {
  if (!withUtilization) return absent("not-asked");
  return hasMig ? absent("not-supported") : known(percent(isLatched ? 100 : 0));
}

function describeProcesses({ faults }: SimGpu, memory: readonly ChargedMemory[]): ProcessList {
  if (faults.processList === "denied") return { state: "unknown", reason: absent("no-permission") };
  const contexts = listContexts(memory, faults.hasMps ? "mps-client" : "compute");
  if (faults.processList === "whole") return { state: "known", contexts };
  return {
    state: "incomplete",
    contexts: contexts.slice(0, Math.ceil(contexts.length / 2)),
    reason: absent("not-reported", "the driver's list is full"),
  };
}

/** One row for each process and MIG device. A process outside the reader's PID namespace is left out without a trace. */
function listContexts(memory: readonly ChargedMemory[], kind: Context["kind"]): Context[] {
  const rows = new Map<
    string,
    { readonly pid: Pid; readonly mig: MigPlace | undefined; readonly sizes: Bytes[] }
  >();
  for (const { owner, name, size } of memory) {
    if (owner === undefined || name.kind === "visible") continue;
    const key = `${owner} ${name.mig?.gpuInstance} ${name.mig?.computeInstance}`;
    const row = rows.get(key) ?? { pid: owner, mig: name.mig, sizes: [] };
    rows.set(key, row);
    row.sizes.push(size);
  }
  return [...rows.values()].sort((a, b) => a.pid - b.pid).map(({ pid, mig, sizes }) => ({
    pid,
    kind,
    used: known(sumBytes(sizes)),
    ...mig && { gpuInstance: mig.gpuInstance, computeInstance: mig.computeInstance },
  }));
}
