/** A reading of nvidia-smi's text as short lines, so that the manifest of the fixtures can hold whole values. */
import type { Absent, Reading } from "../../lib/core/reading.ts";
import type { Context, Driver, Gpu, MigInstance, ProcessList } from "../../lib/model/gpu.ts";
import type { ListedHolder } from "../../lib/model/listed_holder.ts";
import type { SmiReading } from "../../lib/source/smi/parse.ts";

const MIB = 1024 ** 2;

/** What a manifest holds of a reading. What is merely not reported is left out. */
export interface SmiSummary {
  readonly kind: string;
  readonly takenAt?: string;
  readonly listing: string;
  readonly report?: string;
  readonly driver?: string;
  readonly gpus?: readonly GpuSummary[];
  readonly unreadableGpus?: readonly string[];
  readonly problems?: readonly string[];
  readonly holders?: readonly string[];
  readonly refusals?: readonly string[];
}

export interface GpuSummary {
  readonly gpu: string;
  readonly values: string;
  readonly mig?: readonly string[];
  readonly list: string;
  readonly contexts?: readonly string[];
}

/** The summary of a whole reading. */
export function summarise(reading: SmiReading): SmiSummary {
  const { kind, takenAt, listing, report, problems, holders, refusals } = reading;
  return {
    kind,
    ...(takenAt === undefined ? {} : { takenAt }),
    listing,
    ...(report.ok
      ? {
        driver: formatDriver(report.value.driver),
        gpus: report.value.gpus.map(summariseGpu),
        ...filled(
          "unreadableGpus",
          report.value.unreadableGpus.map(({ index, reason }) => `${index} ${say(reason)}`),
        ),
      }
      : { report: say(report) }),
    ...filled(
      "problems",
      problems.map(({ subject, reason, message }) => `${subject} | ${say(reason)} | ${message}`),
    ),
    ...(holders === undefined ? {} : { holders: holders.map(formatHolder) }),
    ...filled("refusals", refusals.map(({ id }) => id)),
  };
}

function summariseGpu(gpu: Gpu): GpuSummary {
  const { migInstances: mig, processList: list } = gpu;
  return {
    gpu: `${gpu.index} ${gpu.uuid}`,
    values: pairs([
      ["name", gpu.name],
      ["bus", gpu.busId],
      ["minor", gpu.minor],
      ["total", inMiB(gpu.memoryTotal)],
      ["used", inMiB(gpu.memoryUsed)],
      ["reserved", inMiB(gpu.memoryReserved)],
      ["free", inMiB(gpu.memoryFree)],
      ["usedIncludesReserve", gpu.usedIncludesReserve],
      ["utilization", gpu.utilization],
      ["persistence", gpu.persistenceMode],
      ["computeMode", gpu.computeMode],
      ["display", gpu.displayActive],
      ["mig", gpu.migMode.ok ? { ok: true, value: JSON.stringify(gpu.migMode.value) } : gpu.migMode],
      ["recovery", gpu.recoveryAction],
    ]),
    ...(mig.ok ? { mig: mig.value.map(formatMig) } : {}),
    list: formatList(list),
    ...(list.state === "unknown" ? {} : { contexts: list.contexts.map(formatContext) }),
  };
}

function formatDriver({ version, libraryVersion, cudaVersion }: Driver): string {
  return pairs([["version", version], ["library", libraryVersion], ["cuda", cudaVersion]]);
}

function formatMig(
  { uuid, gpuInstance, computeInstance, profile, memoryTotal, memoryUsed }: MigInstance,
): string {
  return `${uuid} ${
    pairs([
      ["gi", gpuInstance],
      ["ci", computeInstance],
      ["profile", profile],
      ["total", inMiB(memoryTotal)],
      ["used", inMiB(memoryUsed)],
    ])
  }`;
}

function formatList(list: ProcessList): string {
  return list.state === "known" ? "known" : `${list.state}: ${say(list.reason)}`;
}

function formatContext({ pid, kind, used, gpuInstance, computeInstance, name }: Context): string {
  const memory = inMiB(used);
  const instances = gpuInstance === undefined ? "" : ` gi ${gpuInstance} ci ${computeInstance}`;
  return `${pid} ${kind} ${memory.ok ? memory.value : say(memory)}${instances}${
    name === undefined ? "" : ` ${name}`
  }`;
}

function formatHolder({ pid, user, command, uses }: ListedHolder): string {
  const nodes = uses.map(({ path, node, isOpen, isMapped }) =>
    `${path} (${node.kind}${node.kind === "gpu" ? ` ${node.minor}` : ""}${isOpen ? ", open" : ""}${
      isMapped ? ", mapped" : ""
    })`
  );
  return `${pid} ${user ?? "?"} ${command ?? "?"}: ${nodes.join("; ")}`;
}

function pairs(values: readonly (readonly [string, Reading<unknown>])[]): string {
  return values.flatMap(([name, reading]) => {
    if (reading.ok) return [`${name} ${reading.value}`];
    return reading.why === "not-reported" && reading.detail === undefined ? [] : [`${name} ${say(reading)}`];
  }).join("; ");
}

function say({ why, detail }: Absent): string {
  return detail === undefined ? `!${why}` : `!${why} (${detail})`;
}

function inMiB(reading: Reading<number>): Reading<string> {
  return reading.ok ? { ok: true, value: `${reading.value / MIB} MiB` } : reading;
}

function filled(name: string, values: readonly string[]): Record<string, readonly string[]> {
  return values.length === 0 ? {} : { [name]: values };
}
