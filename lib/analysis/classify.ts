/**
 * What a holder is, and what shows it. Pure: facts in, a verdict with its evidence out. The rules are tried in order and
 * the first that applies decides; none of them rests on a name or on "its parent is 1" alone.
 */
import type { HolderClass } from "../model/snapshot.ts";
import { judgeDetached, judgeLive, judgeStopped } from "./at_work.ts";
import { type Facts, hasEnded, isInStateD, isZombieLeader } from "./facts.ts";
import type { LiveOwners } from "./ghosts.ts";
import { judgeInherited, judgeLeftover, judgeOrphan, judgeZombieLeader } from "./left_behind.ts";
import { findRole } from "./roles.ts";
import type { Verdict } from "./verdict.ts";

interface Rule {
  /** The classes that it may give. Any rule may give `unknown` besides: what contradicts itself is not judged further. */
  readonly gives: readonly HolderClass[];
  judge(facts: Facts, owners: LiveOwners): Verdict | undefined;
}

/** Rules that hold wherever a process lives. Who must never be ended comes before who may be. */
const RULES_EVERYWHERE: readonly Rule[] = [
  { gives: ["exiting"], judge: judgeExiting },
  { gives: ["stuck"], judge: judgeStuck },
  { gives: ["display", "mps-server", "service"], judge: judgeRole },
  { gives: [], judge: judgeListedOnly },
  { gives: ["monitor"], judge: judgeMonitor },
  { gives: ["job-leftover"], judge: judgeLeftover },
];
/** The rest, for processes of the reader's own PID namespace; one of another is `foreign` before they are asked. */
const RULES: readonly Rule[] = [
  { gives: ["zombie-leader"], judge: judgeZombieLeader },
  { gives: ["inherited"], judge: judgeInherited },
  { gives: ["orphan"], judge: judgeOrphan },
  { gives: ["stopped"], judge: judgeStopped },
  { gives: ["detached"], judge: judgeDetached },
  { gives: ["live"], judge: judgeLive },
];

/** The classes in the order in which they are tried. */
export const CLASSES_AS_TRIED: readonly HolderClass[] = [
  ...RULES_EVERYWHERE.flatMap(({ gives }) => gives),
  "foreign",
  ...RULES.flatMap(({ gives }) => gives),
  "unknown",
];

/** Classifies one holder. */
export function classify(facts: Facts, owners: LiveOwners): Verdict {
  const own = firstVerdict(RULES_EVERYWHERE, facts, owners);
  if (own) return own;
  const inside = firstVerdict(RULES, facts, owners) ?? judgeUnknown(facts);
  const foreign = judgeForeign(facts);
  return foreign ? { ...foreign, inside } : inside;
}

function firstVerdict(rules: readonly Rule[], facts: Facts, owners: LiveOwners): Verdict | undefined {
  for (const rule of rules) {
    const verdict = rule.judge(facts, owners);
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

/**
 * Functions of the NVIDIA kernel modules and their locks, as /proc/PID/wchan names them. Disks (nvme_…, nvdimm_…) and NFS
 * (rpc_…) have functions that begin alike.
 */
const DRIVER_FUNCTION = /^_*(?:nv(?!me|dimm)|uvm|os_(?:acquire|wait|delay)|rm_|rm[A-Z]|rmapi|rpc[A-Z]|kgsp)/;

function judgeStuck({ process }: Facts): Verdict | undefined {
  if (!isInStateD(process)) return undefined;
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
    advice: "Look again in a minute. If it stays, only a reset of the GPU or a reboot ends it.",
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

/** NVML keeps the pid of whoever allocated, and that may be somebody else by now: a context without mappings is none. */
function judgeListedOnly({ driverUse, contexts }: Facts): Verdict | undefined {
  if (contexts.length === 0 || driverUse === "client" || driverUse === "unknown") return undefined;
  return {
    class: "unknown",
    evidence: [
      "is listed by the driver and has nothing of the driver mapped: its pid may have been another's",
    ],
    advice: "Look again in a moment. If it stays, what holds the memory is somebody else.",
  };
}

function judgeGraphics({ contexts }: Facts): Verdict | undefined {
  if (contexts.length === 0 || contexts.some(({ context }) => context.kind !== "graphics")) return undefined;
  return {
    class: "display",
    evidence: ["has graphics contexts only: part of a desktop or a renderer"],
    advice: "Leave it alone, or close its window.",
  };
}

function judgeMonitor({ driverUse, contexts }: Facts): Verdict | undefined {
  if (driverUse !== "monitor" || contexts.length > 0) return undefined;
  return {
    class: "monitor",
    evidence: ["has the device open and nothing mapped: it watches, it holds no memory"],
    advice: "Leave it alone. It blocks a reset of the GPU.",
  };
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
