/** Rules for what was left behind: the classes that a cleaning ends unless told otherwise. */
import type { Pid } from "../core/ids.ts";
import { type Facts, isZombieLeader } from "./facts.ts";
import { describeDead, findKept, type LiveOwners, mayBeForkedByOwner, reasonsToHold } from "./ghosts.ts";
import { judgeJob } from "./jobs.ts";
import { findPreForkServer } from "./servers.ts";
import type { Verdict } from "./verdict.ts";
import { findWorker } from "./workers.ts";

/** Of a batch job or a container that is proven to have ended. */
export function judgeLeftover(facts: Facts): Verdict | undefined {
  const job = judgeJob(facts.process, facts.scan);
  if (job?.state !== "ended") return undefined;
  return { class: "job-leftover", evidence: job.evidence, advice: endAdvice(facts.process.pid) };
}

/** Its main thread is dead, and others live and hold everything. */
export function judgeZombieLeader({ process }: Facts): Verdict | undefined {
  if (!isZombieLeader(process)) return undefined;
  return {
    class: "zombie-leader",
    evidence: [
      `its main thread has ended (state Z); ${process.threads - 1} other threads live and hold everything`,
      "ps shows <defunct>, and fuser and nvidia-smi show nothing",
    ],
    advice: `${endAdvice(process.pid)} SIGKILL ends it: a zombie leader is no zombie.`,
  };
}

/** It is proven to keep memory that a dead process allocated. */
export function judgeInherited(facts: Facts, owners: LiveOwners): Verdict | undefined {
  if (!facts.process.argv.ok || findPreForkServer(facts.process) !== undefined) return undefined;
  const kept = findKept(facts, owners);
  const [first] = kept;
  if (first === undefined) return undefined;
  return {
    class: "inherited",
    evidence: [describeDead(kept), ...reasonsToHold(facts, first, owners)],
    advice: `${endAdvice(facts.process.pid)} PyTorch's loader workers leave by themselves within about 6 s.`,
  };
}

/** A worker whose owner is proven to be gone. */
export function judgeOrphan(facts: Facts, owners: LiveOwners): Verdict | undefined {
  if (facts.driverUse !== "client" && facts.contexts.length === 0) return undefined;
  const worker = findWorker(facts.process, facts.scan);
  if (worker?.owner !== "gone" || mayBeForkedByOwner(worker.root, facts.scan, owners)) return undefined;
  // Nothing in one look tells such memory from its own; of other workers it is not to be expected.
  const mayImport = facts.contexts.length > 0 && worker.kind === "multiprocessing worker";
  const evidence = mayImport
    ? [...worker.evidence, "memory that its owner shared with it (CUDA IPC) would count as its own now"]
    : worker.evidence;
  return { class: "orphan", evidence, advice: endAdvice(facts.process.pid) };
}

function endAdvice(pid: Pid): string {
  return `To end it safely: gpuctl clean-zombies --pid ${pid}.`;
}
