/**
 * Makes a driver's report of what a helper sent. Everything is built anew with the constructors of its type, so that
 * nothing a helper says is believed for being well-formed JSON.
 */
import { deviceMinor, gpuIndex, gpuUuid, parseBusId, pid } from "../../core/ids.ts";
import type { Reading } from "../../core/reading.ts";
import { bytes, percent } from "../../core/units.ts";
import type { AccountedProcess } from "../../model/accounting.ts";
import {
  COMPUTE_MODES,
  type Context,
  CONTEXT_KINDS,
  type Driver,
  type DriverReport,
  type Gpu,
  type MigInstance,
  type ProcessList,
  RECOVERY_ACTIONS,
} from "../../model/gpu.ts";
import { decodeHealth } from "./decode_health.ts";
import { decodeAbsent, decodePendingMode, decodeReading } from "./decode_reading.ts";
import {
  expectArray,
  expectBoolean,
  expectNumber,
  expectOneOf,
  expectRecord,
  expectText,
  type JsonRecord,
} from "./expect.ts";

/** @throws {SyntaxError|RangeError} if any value is not what its type says. */
export function decodeReport(value: unknown): Reading<DriverReport> {
  return decodeReading(value, "report", (value) => {
    const report = expectRecord(value, "report");
    return {
      driver: decodeDriver(expectRecord(report.driver, "driver")),
      gpus: expectArray(report.gpus, "gpus").map((gpu) => decodeGpu(expectRecord(gpu, "gpu"))),
      unreadableGpus: expectArray(report.unreadableGpus, "unreadableGpus").map((value) => {
        const gpu = expectRecord(value, "unreadable GPU");
        return {
          index: gpuIndex(expectNumber(gpu.index, "index")),
          reason: decodeAbsent(expectRecord(gpu.reason, "reason")),
        };
      }),
    };
  });
}

function decodeDriver(driver: JsonRecord): Driver {
  return {
    version: decodeReading(driver.version, "version", expectText),
    libraryVersion: decodeReading(driver.libraryVersion, "libraryVersion", expectText),
    cudaVersion: decodeReading(driver.cudaVersion, "cudaVersion", expectText),
  };
}

function decodeGpu(gpu: JsonRecord): Gpu {
  return {
    index: gpuIndex(expectNumber(gpu.index, "index")),
    uuid: gpuUuid(expectText(gpu.uuid, "uuid")),
    name: decodeReading(gpu.name, "name", expectText),
    busId: decodeReading(gpu.busId, "busId", (value, name) => parseBusId(expectText(value, name))),
    minor: decodeReading(gpu.minor, "minor", (value, name) => deviceMinor(expectNumber(value, name))),
    memoryTotal: decodeReading(gpu.memoryTotal, "memoryTotal", expectBytes),
    memoryUsed: decodeReading(gpu.memoryUsed, "memoryUsed", expectBytes),
    memoryReserved: decodeReading(gpu.memoryReserved, "memoryReserved", expectBytes),
    memoryFree: decodeReading(gpu.memoryFree, "memoryFree", expectBytes),
    usedIncludesReserve: decodeReading(gpu.usedIncludesReserve, "usedIncludesReserve", expectBoolean),
    utilization: decodeReading(
      gpu.utilization,
      "utilization",
      (value, name) => percent(expectNumber(value, name)),
    ),
    persistenceMode: decodeReading(gpu.persistenceMode, "persistenceMode", expectBoolean),
    computeMode: decodeReading(
      gpu.computeMode,
      "computeMode",
      (value, name) => expectOneOf(value, name, COMPUTE_MODES),
    ),
    displayActive: decodeReading(gpu.displayActive, "displayActive", expectBoolean),
    migMode: decodeReading(gpu.migMode, "migMode", decodePendingMode),
    migInstances: decodeReading(
      gpu.migInstances,
      "migInstances",
      (value, name) =>
        expectArray(value, name).map((instance) => decodeInstance(expectRecord(instance, name))),
    ),
    recoveryAction: decodeReading(
      gpu.recoveryAction,
      "recoveryAction",
      (value, name) => expectOneOf(value, name, RECOVERY_ACTIONS),
    ),
    processList: decodeProcessList(expectRecord(gpu.processList, "processList")),
    ...gpu.health !== undefined && { health: decodeHealth(expectRecord(gpu.health, "health")) },
    ...gpu.accounting !== undefined &&
      { accounting: decodeReading(gpu.accounting, "accounting", decodeAccounting) },
  };
}

function decodeAccounting(value: unknown, name: string): readonly AccountedProcess[] {
  return expectArray(value, name).map((each) => {
    const process = expectRecord(each, name);
    return {
      pid: pid(expectNumber(process.pid, "pid")),
      startedAt: expectNumber(process.startedAt, "startedAt"),
      peak: decodeReading(process.peak, "peak", expectBytes),
      isRunning: expectBoolean(process.isRunning, "isRunning"),
    };
  });
}

function decodeInstance(instance: JsonRecord): MigInstance {
  return {
    uuid: gpuUuid(expectText(instance.uuid, "uuid")),
    gpuInstance: decodeReading(instance.gpuInstance, "gpuInstance", expectNumber),
    computeInstance: decodeReading(instance.computeInstance, "computeInstance", expectNumber),
    profile: decodeReading(instance.profile, "profile", expectText),
    memoryTotal: decodeReading(instance.memoryTotal, "memoryTotal", expectBytes),
    memoryUsed: decodeReading(instance.memoryUsed, "memoryUsed", expectBytes),
  };
}

function decodeProcessList(list: JsonRecord): ProcessList {
  const state = expectOneOf(list.state, "state", ["known", "incomplete", "unknown"]);
  if (state === "unknown") return { state, reason: decodeAbsent(expectRecord(list.reason, "reason")) };
  const contexts = expectArray(list.contexts, "contexts").map((context) =>
    decodeContext(expectRecord(context, "context"))
  );
  return state === "known"
    ? { state, contexts }
    : { state, contexts, reason: decodeAbsent(expectRecord(list.reason, "reason")) };
}

function decodeContext(context: JsonRecord): Context {
  const { gpuInstance, computeInstance, name } = context;
  return {
    pid: pid(expectNumber(context.pid, "pid")),
    kind: expectOneOf(context.kind, "kind", CONTEXT_KINDS),
    used: decodeReading(context.used, "used", expectBytes),
    ...(gpuInstance !== undefined && { gpuInstance: expectNumber(gpuInstance, "gpuInstance") }),
    ...(computeInstance !== undefined &&
      { computeInstance: expectNumber(computeInstance, "computeInstance") }),
    ...(name !== undefined && { name: expectText(name, "name") }),
  };
}

function expectBytes(value: unknown, name: string) {
  return bytes(expectNumber(value, name));
}
