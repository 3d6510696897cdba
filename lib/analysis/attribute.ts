/** Joins what the driver claims with what /proc shows into one snapshot. Pure: one observation in, one snapshot out. */
import { absent, known, type Reading, valueOf } from "../core/reading.ts";
import { contextsOf, type DriverReport, type Gpu } from "../model/gpu.ts";
import type { Observation, ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import type { Ghost, GpuAccount, Holder, HolderDevice, Problem, Snapshot } from "../model/snapshot.ts";
import { accountOf, unattributedOf } from "./account.ts";
import { contextBytesOf } from "./facts.ts";
import { findLikelyHolders } from "./ghosts.ts";
import { judgeHolders } from "./judge.ts";
import type { Verdict } from "./verdict.ts";

/** Says who holds the GPUs and why, as far as the observation shows it. */
export function attribute(observation: Observation): Snapshot {
  const { takenAt, source, simulated, host } = observation;
  const problems = [...observation.problems, ...problemsOf(observation)];
  const base = { takenAt: known(takenAt), source, simulated, host, problems };
  if (!observation.report.ok) {
    return { ...base, driver: observation.report, gpus: [], holders: [], ghosts: [] };
  }
  const joined = observation.scan.ok
    ? joinScan(observation.report.value, observation.scan.value)
    : listOnly(observation.report.value, observation.scan);
  return { ...base, driver: known(observation.report.value.driver), ...joined };
}

function joinScan(report: DriverReport, scan: ProcessScan): Pick<Snapshot, "gpus" | "holders" | "ghosts"> {
  const { holders, dead, owners } = judgeHolders(report, scan);
  const facts = holders.map((holder) => holder.facts);
  const isScanComplete = scan.coverage.unreadable === 0 && scan.coverage.cutShort === undefined &&
    valueOf(scan.reader.isInitialPidNamespace) === true;
  return {
    gpus: report.gpus.map((gpu) => accountOf(gpu, facts, isScanComplete)),
    holders: holders.map(({ facts, verdict }) => holderOf(facts.process, facts.devices, verdict)),
    ghosts: dead.map((each): Ghost => ({
      pid: each.context.pid,
      gpu: each.gpu.uuid,
      contextBytes: each.context.used,
      likelyHolders: findLikelyHolders(each, facts, owners),
    })),
  };
}

function holderOf(
  process: Process,
  devices: readonly HolderDevice[],
  verdict: Verdict,
): Holder {
  const { pid, uid, user, argv, owner } = process;
  return {
    pid,
    startTicks: known(process.startTicks),
    uid,
    user,
    argv,
    name: process.comm,
    state: known(process.state),
    threads: known(process.threads),
    parentPid: known(process.parentPid),
    owner,
    class: verdict.class,
    evidence: verdict.evidence,
    advice: verdict.advice,
    devices,
  };
}

/** What a list alone says: pids, with nothing to tell whether they live. */
function listOnly(
  report: DriverReport,
  reason: Reading<never>,
): Pick<Snapshot, "gpus" | "holders" | "ghosts"> {
  const why = reason.ok ? absent("not-reported") : reason;
  const pids = new Set(report.gpus.flatMap((gpu) => contextsOf(gpu.processList).map(({ pid }) => pid)));
  const holders = [...pids].sort((a, b) => a - b).map((pid): Holder => {
    const named = report.gpus.flatMap((gpu) => contextsOf(gpu.processList)).find((context) =>
      context.pid === pid
    );
    return {
      pid,
      startTicks: why,
      uid: why,
      user: why,
      argv: why,
      name: named?.name ?? "",
      state: why,
      threads: why,
      parentPid: why,
      owner: why,
      class: "unknown",
      evidence: ["a list of contexts says nothing about the process itself"],
      advice: "Look on the machine itself: gpuctl snapshot",
      devices: report.gpus.filter((gpu) => contextsOf(gpu.processList).some((context) => context.pid === pid))
        .map((gpu) => ({
          gpu: gpu.uuid,
          contextBytes: contextBytesOf(pid, gpu),
          isOpen: why,
          isMapped: why,
        })),
    };
  });
  return { gpus: report.gpus.map(bareAccount), holders, ghosts: [] };
}

function bareAccount(gpu: Gpu): GpuAccount {
  return { gpu, unattributed: unattributedOf(gpu) };
}

function problemsOf({ report, scan }: Observation): Problem[] {
  const problems: Problem[] = [];
  if (report.ok) {
    for (const { index, reason } of report.value.unreadableGpus) {
      problems.push({ subject: `GPU ${index}`, reason, message: `GPU ${index} cannot be read` });
    }
    for (const { index, processList: list } of report.value.gpus) {
      if (list.state === "known") continue;
      const message = list.state === "unknown"
        ? `The process list of GPU ${index} cannot be read: that is not the same as no process`
        : `The process list of GPU ${index} is incomplete`;
      problems.push({ subject: `process list of GPU ${index}`, reason: list.reason, message });
    }
  } else problems.push({ subject: "driver", reason: report, message: "The driver gave no answer" });
  return scan.ok ? [...problems, ...scanProblems(scan.value, report)] : problems;
}

function scanProblems(
  { coverage, reader, processes }: ProcessScan,
  report: Observation["report"],
): Problem[] {
  const problems: Problem[] = [];
  const { unreadable, cutShort } = coverage;
  if (unreadable > 0) {
    const reason = absent("no-permission", `${unreadable} of ${coverage.processes} processes`);
    problems.push({
      subject: "descriptors",
      reason,
      message: `The descriptors of ${unreadable} of ${coverage.processes} processes cannot be listed${
        reader.isRoot ? ", not even by root" : ": run as root to see who holds a GPU"
      }`,
    });
  }
  if (cutShort) {
    problems.push({ subject: "processes", reason: cutShort, message: "Not every process was looked at" });
  }
  if (valueOf(reader.isInitialPidNamespace) === true) return problems;
  const reason = absent("hidden", "PID namespace");
  problems.push({
    subject: "PID namespace",
    reason,
    message:
      "Only processes of this PID namespace can be seen from here: look from the host, or start the container with the host's PID namespace",
  });
  const listed = report.ok ? report.value.gpus.flatMap((gpu) => contextsOf(gpu.processList)) : [];
  const unseen = [...new Set(listed.map(({ pid }) => pid).filter((pid) => !processes.has(pid)))];
  if (unseen.length > 0) {
    problems.push({
      subject: "listed processes",
      reason,
      message: `PID ${unseen.join(", ")} in the driver's list cannot be seen from here`,
    });
  }
  return problems;
}
