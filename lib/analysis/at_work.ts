/** Rules for jobs that nobody left behind: at work, on their own, or suspended. */
import type { Facts } from "./facts.ts";
import { type LiveOwners, livingOwnerOf } from "./ghosts.ts";
import { judgeJob } from "./jobs.ts";
import {
  ancestorsOf,
  findMultiplexer,
  isAdopter,
  isInit,
  isMachineReaper,
  parentOf,
  programOf,
} from "./lineage.ts";
import { findPreForkServer } from "./servers.ts";
import type { Verdict } from "./verdict.ts";

/** Suspended, or halted by a debugger. */
export function judgeStopped({ process }: Facts): Verdict | undefined {
  if (process.state !== "T" && process.state !== "t") return undefined;
  const isTraced = process.state === "t";
  return {
    class: "stopped",
    evidence: [
      isTraced
        ? "is halted by a debugger (state t)"
        : "is suspended (state T): it cannot act on SIGTERM until continued",
    ],
    advice: isTraced ? "Ask whoever debugs it." : `Continue it (kill -CONT ${process.pid}) or ask its owner.`,
  };
}

/** Runs without the process that started it, and nothing shows that this is a mistake. */
export function judgeDetached(facts: Facts): Verdict | undefined {
  const { process, scan } = facts;
  const job = judgeJob(process, scan);
  // A batch system watches over all that a job starts, and ends it with the job.
  if (job?.kind === "batch" && job.state === "running") return undefined;
  const reasons: string[] = [];
  const multiplexer = findMultiplexer(process, scan);
  if (multiplexer) reasons.push(`runs under ${programOf(multiplexer)} (PID ${multiplexer.pid})`);
  if (process.ignoresHangup.ok && process.ignoresHangup.value) {
    reasons.push("ignores SIGHUP, as nohup sets it");
  }
  const isAdopted = hasBeenAdopted(facts);
  if (isAdopted && process.session === process.pid && process.terminal === 0) {
    reasons.push("is its own session without a terminal, as setsid makes it");
  }
  const server = findPreForkServer(process);
  if (isAdopted && server !== undefined) {
    reasons.push(`is a worker of a server that forks them ahead (${server}) and may still answer`);
  }
  if (
    isAdopted && process.stdio.ok && process.stdio.value.isOutputBroken.ok &&
    process.stdio.value.isOutputBroken.value
  ) {
    reasons.push(
      "its starter has ended and its output goes into a pipe that nobody reads: it may have been left by mistake",
    );
  }
  if (isAdopted && reasons.length === 0) {
    reasons.push("the process that started it has ended, and nothing shows that it was left by mistake");
  }
  if (reasons.length === 0) return undefined;
  return { class: "detached", evidence: reasons, advice: "Ask its owner." };
}

/** Says whether its starter has ended. In a container PID 1 may well be the starter. */
function hasBeenAdopted({ process, scan }: Facts): boolean {
  const parent = parentOf(process, scan);
  return parent !== undefined && (isMachineReaper(parent, scan) || isInit(parent));
}

/** Somebody who lives started it or watches over it. */
export function judgeLive(facts: Facts, owners: LiveOwners): Verdict | undefined {
  if (facts.driverUse === "unknown" && facts.contexts.length === 0) return undefined;
  const evidence = signsOfLife(facts, owners);
  return evidence.length === 0 ? undefined : { class: "live", evidence, advice: "None: it is at work." };
}

function signsOfLife(facts: Facts, owners: LiveOwners): readonly string[] {
  const { process, scan } = facts;
  const job = judgeJob(process, scan);
  const owner = facts.contexts.length === 0 ? livingOwnerOf(facts, owners) : undefined;
  const signs = [
    ...(job?.state === "running" ? job.evidence : []),
    ...(owner === undefined ? [] : [`is a part of the job of PID ${owner}, which lives`]),
  ];
  if (signs.length > 0) return signs;
  if (process.pid === 1) return ["is the first process of its PID namespace"];
  if (process.parentPid === 0) return ["was started from outside this PID namespace"];
  const parent = parentOf(process, scan);
  if (parent === undefined) return [];
  const starter = ancestorsOf(process, scan).find((ancestor) => isAdopter(ancestor) && ancestor.pid !== 1) ??
    parent;
  return [`its starter lives: PID ${starter.pid} (${starter.comm})`];
}
