/**
 * What a holder is, and what shows it. Pure: facts in, a verdict with its evidence out. The rules are tried in the order
 * of RULES and the first that applies decides; none of them rests on a name or on "its parent is 1" alone.
 */
import type { Pid } from "../core/ids.ts";
import type { HolderClass } from "../model/snapshot.ts";
import { type Facts, hasEnded, isZombieLeader } from "./facts.ts";
import { describeDead, type LiveOwners, livingOwnerOf, reasonsToHold } from "./ghosts.ts";
import { judgeJob } from "./jobs.ts";
import { ancestorsOf, findMultiplexer, isAdopter, isInit, parentOf, programOf } from "./lineage.ts";
import { findRole } from "./roles.ts";
import { findWorker } from "./workers.ts";

/** A class with what was seen that makes it so, and the one next thing to do. */
export interface Verdict {
  readonly class: HolderClass;
  readonly evidence: readonly string[];
  readonly advice: string;
  /** For `foreign`: what it is when its own namespace is looked at. */
  readonly inside?: Verdict;
}

type Rule = (facts: Facts, owners: LiveOwners) => Verdict | undefined;

/** The rules in the order they are tried. Who must never be ended comes before who may be. */
const RULES_EVERYWHERE: readonly Rule[] = [judgeExiting, judgeStuck, judgeRole, judgeLeftover];
/** The rest, for processes of the reader's own PID namespace; a process of another one is `foreign` before they are asked. */
const RULES: readonly Rule[] = [
  judgeZombieLeader,
  judgeInherited,
  judgeOrphan,
  judgeMonitor,
  judgeStopped,
  judgeDetached,
  judgeLive,
];

/** Classifies one holder. */
export function classify(facts: Facts, owners: LiveOwners): Verdict {
  const foreign = judgeForeign(facts);
  const own = firstVerdict(RULES_EVERYWHERE, facts, owners);
  if (own) return own;
  const inside = firstVerdict(RULES, facts, owners) ?? judgeUnknown(facts);
  return foreign ? { ...foreign, inside } : inside;
}

function firstVerdict(rules: readonly Rule[], facts: Facts, owners: LiveOwners): Verdict | undefined {
  for (const rule of rules) {
    const verdict = rule(facts, owners);
    if (verdict) return verdict;
  }
  return undefined;
}

function judgeUnknown(facts: Facts): Verdict {
  return {
    class: "unknown",
    evidence: [
      facts.driverUse === "unknown"
        ? "its use of the driver cannot be read by this user"
        : "nothing shows who it belongs to",
    ],
    advice: "Run as root to see more.",
  };
}

function judgeExiting({ process }: Facts): Verdict | undefined {
  if (hasEnded(process)) {
    return {
      class: "exiting",
      evidence: [
        `has ended and waits for its parent, PID ${process.parentPid}, to reap it; it holds nothing`,
      ],
      advice: `Nothing to do on the GPU. PID ${process.parentPid} does not reap its children.`,
    };
  }
  if (!process.isExiting || isZombieLeader(process)) return undefined;
  return {
    class: "exiting",
    evidence: ["is on its way out; the driver is taking its memory back"],
    advice: "Wait some seconds and look again.",
  };
}

/** Functions of the NVIDIA kernel modules and their locks, as /proc/PID/wchan names them. */
const DRIVER_FUNCTION = /^(?:_?nv|uvm|os_acquire|os_wait|rm_|rpc|_kgsp|_rm)/;

function judgeStuck({ process }: Facts): Verdict | undefined {
  const isWaiting = process.state === "D" ||
    (process.threadStates.ok && process.threadStates.value.includes("D"));
  if (!isWaiting) return undefined;
  const place = process.waitsIn.ok ? process.waitsIn.value : undefined;
  // Waiting for a disk is in state D too, and passes.
  if (place !== undefined && !DRIVER_FUNCTION.test(place)) return undefined;
  return {
    class: "stuck",
    evidence: [
      place === undefined
        ? "is in state D: no signal reaches it"
        : `waits in the driver (${place}), state D: no signal reaches it`,
    ],
    advice:
      "Look again in a minute. If it stays, `gpuctl reset-gpu` says whether a reset or a reboot is needed.",
  };
}

function judgeRole(facts: Facts): Verdict | undefined {
  const found = findRole(facts.process);
  if (found === undefined) return judgeGraphics(facts);
  if (found.kind === "suspicious") {
    return {
      class: "unknown",
      evidence: [found.evidence],
      advice: "Find out what it is before anything is done to it.",
    };
  }
  const stop = found.unit === undefined
    ? `Leave it alone.`
    : `Leave it alone. To stop it: systemctl stop ${found.unit}`;
  const advice = found.role === "mps-server"
    ? "Leave it alone: ending it ends all its clients. To stop it: echo quit | nvidia-cuda-mps-control"
    : stop;
  return { class: found.role, evidence: [found.evidence], advice };
}

function judgeGraphics({ contexts }: Facts): Verdict | undefined {
  if (contexts.length === 0 || contexts.some(({ context }) => context.kind !== "graphics")) return undefined;
  return {
    class: "display",
    evidence: ["has graphics contexts only: part of a desktop or a renderer"],
    advice: "Leave it alone, or close its window.",
  };
}

function judgeLeftover(facts: Facts): Verdict | undefined {
  const job = judgeJob(facts.process, facts.scan);
  if (job?.state !== "ended") return undefined;
  return { class: "job-leftover", evidence: job.evidence, advice: endAdvice(facts.process.pid) };
}

function judgeForeign({ process, scan }: Facts): Verdict | undefined {
  const own = scan.reader.pidNamespace;
  const isDeep = process.namespacePids.ok && process.namespacePids.value.length > 1;
  const isOther = own.ok && process.pidNamespace.ok && own.value !== process.pidNamespace.value;
  if (!isDeep && !isOther) return undefined;
  const container = process.owner.ok ? process.owner.value.container : undefined;
  const place = container
    ? `container ${container.id.slice(0, 12)} (${container.runtime})`
    : "another PID namespace";
  return {
    class: "foreign",
    evidence: [`lives in ${place}`],
    advice: container
      ? `Stop the container, or name it: gpuctl clean-zombies --container ${container.id.slice(0, 12)}`
      : "Judge it from inside its namespace.",
  };
}

function judgeZombieLeader({ process }: Facts): Verdict | undefined {
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

function judgeInherited(facts: Facts, owners: LiveOwners): Verdict | undefined {
  if (facts.contexts.length > 0 || !facts.hasInheritedDescriptors) return undefined;
  const held = facts.deadContexts.filter((dead) => reasonsToHold(facts, dead, owners).length > 0);
  const [first] = held;
  if (first === undefined) return undefined;
  return {
    class: "inherited",
    evidence: [describeDead(held), ...reasonsToHold(facts, first, owners)],
    advice: `${endAdvice(facts.process.pid)} PyTorch's loader workers leave by themselves within about 6 s.`,
  };
}

function judgeOrphan(facts: Facts): Verdict | undefined {
  if (facts.driverUse !== "client" && facts.contexts.length === 0) return undefined;
  const worker = findWorker(facts.process, facts.scan);
  if (worker?.owner !== "gone") return undefined;
  const evidence = facts.contexts.length > 0
    ? [...worker.evidence, "memory that its owner shared with it (CUDA IPC) is now counted as its own"]
    : worker.evidence;
  return { class: "orphan", evidence, advice: endAdvice(facts.process.pid) };
}

function judgeMonitor({ driverUse, contexts }: Facts): Verdict | undefined {
  if (driverUse !== "monitor" || contexts.length > 0) return undefined;
  return {
    class: "monitor",
    evidence: ["has the device open and nothing mapped: it watches, it holds no memory"],
    advice: "Leave it alone. It blocks a reset of the GPU.",
  };
}

function judgeStopped({ process }: Facts): Verdict | undefined {
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

function judgeDetached(facts: Facts): Verdict | undefined {
  const { process, scan } = facts;
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
  if (isAdopted && reasons.length === 0) {
    reasons.push("the process that started it has ended, and nothing shows that it was left by mistake");
  }
  if (reasons.length === 0) return undefined;
  return { class: "detached", evidence: reasons, advice: "Ask its owner." };
}

/** Says whether its starter has ended for sure. In a container PID 1 may well be the starter. */
function hasBeenAdopted({ process, scan }: Facts): boolean {
  const parent = parentOf(process, scan);
  if (parent === undefined) return false;
  const isFirst = scan.reader.isInitialPidNamespace.ok && scan.reader.isInitialPidNamespace.value;
  return (parent.pid === 1 && isFirst) || isInit(parent);
}

function judgeLive(facts: Facts, owners: LiveOwners): Verdict | undefined {
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

function endAdvice(pid: Pid): string {
  return `To end it safely: gpuctl clean-zombies --pid ${pid}.`;
}
