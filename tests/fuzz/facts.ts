/** What a reading of nvidia-smi's text claims, so that two readings can be held against each other. */
import type { Reading } from "../../lib/core/reading.ts";
import { type Context, contextsOf, type Gpu } from "../../lib/model/gpu.ts";
import { isDriverUuid } from "../../lib/model/gpu_identity.ts";
import type { ListedHolder } from "../../lib/model/listed_holder.ts";
import type { SmiReading } from "../../lib/source/smi/parse.ts";

/** Every claim, a line each. What is unknown claims nothing, nor do ids and numbers that stand in for printed ones. */
export function factsOf({ report, holders = [], takenAt }: SmiReading): ReadonlySet<string> {
  const facts = holders.flatMap(factsOfHolder);
  if (takenAt !== undefined) facts.push(`taken at ${takenAt}`);
  if (report.ok) {
    for (const [name, value] of Object.entries(report.value.driver)) put(facts, `driver ${name}`, value);
    for (const gpu of report.value.gpus) facts.push(...factsOfGpu(gpu));
  }
  return new Set(facts);
}

function factsOfGpu(gpu: Gpu): string[] {
  const facts: string[] = [];
  const { index: _, uuid, migInstances, migMode, processList, ...readings } = gpu;
  if (isDriverUuid(uuid)) facts.push(`GPU ${uuid}`);
  for (const [name, value] of Object.entries(readings)) {
    // It follows from the driver's version, and so it is one fact with it.
    if (isReading(value) && name !== "usedIncludesReserve") put(facts, name, value);
  }
  if (migMode.ok) facts.push(`MIG ${JSON.stringify(migMode.value)}`);
  for (const device of migInstances.ok ? migInstances.value : []) {
    put(facts, "MIG total", device.memoryTotal);
    put(facts, "MIG used", device.memoryUsed);
    put(facts, "MIG profile", device.profile);
  }
  for (const context of contextsOf(processList)) facts.push(...factsOfContext(context));
  if (processList.state === "known") {
    facts.push(`all processes ${processList.contexts.map(({ pid }) => pid).sort((a, b) => a - b).join(" ")}`);
  }
  return facts;
}

function factsOfContext({ pid, kind, used, gpuInstance, computeInstance, name }: Context): string[] {
  const facts = [`PID ${pid}`];
  if (kind !== "unknown") facts.push(`PID ${pid} is ${kind}`);
  put(facts, `PID ${pid} uses`, used);
  if (gpuInstance !== undefined) facts.push(`PID ${pid} in ${gpuInstance}`);
  if (computeInstance !== undefined) facts.push(`PID ${pid} in compute instance ${computeInstance}`);
  if (name !== undefined) facts.push(`PID ${pid} is called ${name}`);
  return facts;
}

function factsOfHolder({ pid, user, command, uses }: ListedHolder): string[] {
  return [
    `PID ${pid} holds`,
    ...(user === undefined ? [] : [`PID ${pid} of ${user}`]),
    ...(command === undefined ? [] : [`PID ${pid} is called ${command}`]),
    ...uses.flatMap(({ path, isOpen, isMapped }) => [
      ...(isOpen ? [`PID ${pid} opens ${path}`] : []),
      ...(isMapped ? [`PID ${pid} maps ${path}`] : []),
    ]),
  ];
}

function put(facts: string[], name: string, reading: Reading<unknown>): void {
  if (reading.ok) facts.push(`${name} ${reading.value}`);
}

function isReading(value: unknown): value is Reading<unknown> {
  return typeof value === "object" && value !== null && "ok" in value;
}
