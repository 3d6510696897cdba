/** Joins what the driver claims with what /proc shows into one snapshot. Pure: one observation in, one snapshot out. */
import { repeatOption } from "../core/own_commands.ts";
import { absent, known, valueOf } from "../core/reading.ts";
import { contextsOf, type DriverReport } from "../model/gpu.ts";
import type { Observation, ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import type { Ghost, Holder, HolderDevice, HolderJob, Problem, Snapshot } from "../model/snapshot.ts";
import { accountOf } from "./account.ts";
import { bareAccount, holdersOfLists } from "./attribute_lists.ts";
import { findLikelyHolders } from "./ghosts.ts";
import { findHolderJobs } from "./holder_jobs.ts";
import { judgeHolders } from "./judge.ts";
import { reportProblems } from "./report_problems.ts";
import type { Verdict } from "./verdict.ts";

/** Says who holds the GPUs and why, as far as the observation shows it. */
export function attribute(observation: Observation): Snapshot {
  const { takenAt, source, simulated, sourceOption, host } = observation;
  const problems = [...observation.problems, ...problemsOf(observation)];
  const named = sourceOption === undefined ? {} : { sourceOption };
  const base = { takenAt: known(takenAt), source, simulated, ...named, host, problems };
  if (!observation.report.ok) {
    return { ...base, driver: observation.report, gpus: [], unreadableGpus: [], holders: [], ghosts: [] };
  }
  const joined = observation.scan.ok ? joinScan(observation.report.value, observation.scan.value) : {
    gpus: observation.report.value.gpus.map(bareAccount),
    holders: holdersOfLists(observation.report.value.gpus, { listed: [], why: observation.scan }),
    ghosts: [],
  };
  const { driver, unreadableGpus } = observation.report.value;
  const holders = joined.holders.map((holder) => ({
    ...holder,
    advice: repeatOption(holder.advice, sourceOption),
  }));
  return { ...base, driver: known(driver), unreadableGpus, ...joined, holders };
}

function joinScan(report: DriverReport, scan: ProcessScan): Pick<Snapshot, "gpus" | "holders" | "ghosts"> {
  const { holders, dead, owners } = judgeHolders(report, scan);
  const facts = holders.map((holder) => holder.facts);
  const jobs = findHolderJobs(facts.map(({ process }) => process), scan);
  const isScanComplete = scan.coverage.unreadable === 0 && scan.coverage.cutShort === undefined &&
    valueOf(scan.reader.isInitialPidNamespace) === true;
  return {
    gpus: report.gpus.map((gpu) => accountOf(gpu, facts, isScanComplete)),
    holders: holders.map(({ facts, verdict }) =>
      holderOf(facts.process, { devices: facts.devices, verdict, job: jobs.get(facts.process.pid) })
    ),
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
  { devices, verdict, job }: {
    readonly devices: readonly HolderDevice[];
    readonly verdict: Verdict;
    readonly job: HolderJob | undefined;
  },
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
    ...job !== undefined && { job },
    class: verdict.class,
    evidence: verdict.evidence,
    advice: verdict.advice,
    devices,
  };
}

function problemsOf({ report, scan }: Observation): Problem[] {
  const problems = reportProblems(report);
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
