/** Whom a cleaning leaves alone whatever was asked for, and whom until a person names it. */
import { DEFAULT_CLASSES, type EndingPolicy, WIDENING_CLASSES } from "./ending_policy.ts";
import { type Facts, isInStateD } from "./facts.ts";
import type { JudgedHolder, Judgement } from "./judge.ts";
import { judgeJob } from "./jobs.ts";
import { isFirstOfNamespace } from "./lineage.ts";
import { isNamed } from "./selection.ts";
import type { Verdict } from "./verdict.ts";

const LEFT_BEHIND: ReadonlySet<string> = new Set(DEFAULT_CLASSES);
const ENDABLE: ReadonlySet<string> = new Set([...DEFAULT_CLASSES, ...WIDENING_CLASSES]);

export interface ProtectionOptions {
  readonly judgement: Judgement;
  readonly policy: EndingPolicy;
}

/** Says what protects a holder; `undefined` when nothing does. */
export function whyProtected(holder: JudgedHolder, options: ProtectionOptions): string | undefined {
  const { facts, verdict } = holder;
  const { policy } = options;
  return whyNotAsked(verdict, policy) ?? whyUntouchable(holder, policy) ?? whyOfClass(verdict, policy) ??
    whyIrreplaceable(holder) ?? whyMatched(facts, policy) ?? whyUnreadable(facts) ??
    whyWatchedOver(facts, policy) ?? whyNeighboured(facts, options);
}

/**
 * Says whether a holder is outside of what a cleaning is about, whatever state it is in: of another class, protected by
 * name, somebody else's, or part of what lives. Whoever is inside and is not ended still holds what it holds.
 */
export function isOutside({ facts, verdict }: JudgedHolder, options: ProtectionOptions): boolean {
  const { policy } = options;
  return !ENDABLE.has(verdict.class) || !policy.classes.has(verdict.class) || isOthers(facts) ||
    policy.protect.some((pattern) => matchesPattern(facts, pattern)) ||
    whyIrreplaceable({ facts, verdict }) !== undefined || whyWatchedOver(facts, policy) !== undefined ||
    whyNeighboured(facts, options) !== undefined;
}

/** What shows that a holder was left behind is no reason to leave it alone: that nobody asked for its class is. */
function whyNotAsked({ class: name }: Verdict, { classes }: EndingPolicy): string | undefined {
  return LEFT_BEHIND.has(name) && !classes.has(name) ? "was not asked for (--class)" : undefined;
}

function whyOfClass({ class: name, evidence }: Verdict, { classes }: EndingPolicy): string | undefined {
  return ENDABLE.has(name) && classes.has(name) ? undefined : evidence[0] ?? `is ${name}`;
}

/** Without root only one's own processes can be ended. */
function isOthers({ process, scan: { reader } }: Facts): boolean {
  return !reader.isRoot && !(process.uid.ok && process.uid.value === reader.uid);
}

/** Nobody may name these. */
function whyUntouchable({ facts, verdict }: JudgedHolder, { classes }: EndingPolicy): string | undefined {
  const { process, scan: { reader } } = facts;
  if (!(reader.isInitialPidNamespace.ok && reader.isInitialPidNamespace.value)) {
    return "is seen from inside a PID namespace, which shows too little to judge";
  }
  if (process.pid === 1) return "PID 1 is never ended";
  if (reader.ownPids.includes(process.pid) || reader.ancestorPids.includes(process.pid)) {
    return "gpuctl runs under it";
  }
  // Root would leave the other classes alone as well.
  if (isOthers(facts)) return describeOwner(process) + (classes.has(verdict.class) ? ": run with sudo" : "");
  if (process.state === "D") return "is in state D: no signal reaches it";
  if (isInStateD(process)) return "has a thread in state D: no signal ends it";
  if (process.state === "t") return "is halted by a debugger";
  return undefined;
}

function describeOwner({ user, uid }: Facts["process"]): string {
  if (user.ok) return `belongs to ${user.value}`;
  return uid.ok ? `belongs to uid ${uid.value}` : "whose it is cannot be read";
}

/** What is left of a dead container is ended with its first process; a live one's is the whole container. */
function whyIrreplaceable({ facts, verdict }: JudgedHolder): string | undefined {
  if (verdict.class === "job-leftover" || !isFirstOfNamespace(facts.process)) return undefined;
  return "is the first process of its PID namespace: ending it ends everything in there";
}

function whyMatched(facts: Facts, { protect }: EndingPolicy): string | undefined {
  if (protect.length === 0) return undefined;
  // A dead main thread has no command line, and a process may wipe its own.
  if (!facts.process.argv.ok || facts.process.argv.value.length === 0) {
    return "its command line cannot be checked against --protect";
  }
  const pattern = protect.find((pattern) => matchesPattern(facts, pattern));
  return pattern === undefined ? undefined : `is protected by "${pattern}"`;
}

/** What was not seen proves nothing. */
function whyUnreadable({ process, scan, driverUse }: Facts): string | undefined {
  if (!process.executable.ok) return "which program it runs cannot be read";
  if (!process.threadStates.ok) return "what its threads do cannot be read";
  if (!process.owner.ok) return "which job it belongs to cannot be read";
  if (scan.reader.pidNamespace.ok && !process.namespacePids.ok && !process.pidNamespace.ok) {
    return "its PID namespace cannot be read";
  }
  return driverUse === "client" ? undefined : "its use of the driver cannot be read";
}

function whyWatchedOver({ process, scan }: Facts, policy: EndingPolicy): string | undefined {
  const job = judgeJob(process, scan);
  if (job === undefined || job.state === "ended" || isNamed(process, policy)) return undefined;
  const [belongs = "belongs to a job"] = job.evidence;
  return job.state === "running" ? belongs : `${belongs}, and whether that has ended is not known`;
}

/** Ending one client of MPS in the middle of its work may fail the others (CUDA MPS guide, "Limitations"). */
function whyNeighboured(facts: Facts, { judgement, policy }: ProtectionOptions): string | undefined {
  const own = facts.contexts.filter(({ context }) => context.kind === "mps-client").map(({ gpu }) =>
    gpu.uuid
  );
  if (own.length === 0 || policy.pids?.has(facts.process.pid)) return undefined;
  const neighbour = judgement.holders.find(({ facts: other }) =>
    other.process.pid !== facts.process.pid &&
    other.contexts.some(({ gpu, context }) => context.kind === "mps-client" && own.includes(gpu.uuid))
  );
  if (neighbour === undefined) return undefined;
  return `is a client of MPS beside PID ${neighbour.facts.process.pid}, whose work ending it may disturb`;
}

/** A pattern is plain text, looked for in the command line, its program, the user's name, the unit and the container's id. */
function matchesPattern({ process }: Facts, pattern: string): boolean {
  const owner = process.owner.ok ? process.owner.value : undefined;
  const texts = [
    process.argv.ok ? process.argv.value.join(" ") : "",
    process.executable.ok ? process.executable.value : "",
    process.comm,
    process.user.ok ? process.user.value : "",
    owner?.unit ?? "",
    owner?.container?.id ?? "",
  ];
  return texts.some((text) => text.includes(pattern));
}
