/** Judges every holder of one look at a machine. What attributes memory and what plans an act both start here. */
import { valueOf } from "../core/reading.ts";
import { contextsOf, type DriverReport, type Gpu } from "../model/gpu.ts";
import type { ProcessScan } from "../model/observation.ts";
import { classify } from "./classify.ts";
import { type DeadContext, type Facts, gatherFacts, hasEnded } from "./facts.ts";
import type { LiveOwners } from "./ghosts.ts";
import type { Verdict } from "./verdict.ts";

/** One holder with the facts about it and what they come to. */
export interface JudgedHolder {
  readonly facts: Facts;
  readonly verdict: Verdict;
}

/** Every holder judged, in the order of their pids, with the contexts of dead processes. */
export interface Judgement {
  readonly holders: readonly JudgedHolder[];
  readonly dead: readonly DeadContext[];
  /** Processes that live and have a context of their own. */
  readonly owners: LiveOwners;
}

/** Judges every process that has to do with a GPU. */
export function judgeHolders(report: DriverReport, scan: ProcessScan): Judgement {
  const dead = findDeadContexts(report.gpus, scan);
  const world = { scan, gpus: report.gpus, dead };
  const facts = [...scan.processes.values()]
    .filter((process) => !scan.reader.ownPids.includes(process.pid) && !hasEnded(process))
    .map((process) => gatherFacts(process, world))
    .filter(({ devices }) => devices.length > 0)
    .sort((a, b) => a.process.pid - b.process.pid);
  const owners = new Set(
    facts.filter(({ contexts }) => contexts.length > 0).map(({ process }) => process.pid),
  );
  return { holders: facts.map((each) => ({ facts: each, verdict: classify(each, owners) })), dead, owners };
}

/**
 * Contexts whose process is gone. Where this reader cannot see every process a missing one proves nothing, and none is
 * called dead.
 */
function findDeadContexts(gpus: readonly Gpu[], scan: ProcessScan): DeadContext[] {
  const seesAll = valueOf(scan.reader.isInitialPidNamespace) === true &&
    scan.coverage.cutShort?.why !== "hidden";
  return gpus.flatMap((gpu) =>
    contextsOf(gpu.processList).flatMap((context): DeadContext[] => {
      const process = scan.processes.get(context.pid);
      if (process === undefined) return seesAll ? [{ gpu, context, zombie: undefined }] : [];
      return hasEnded(process) ? [{ gpu, context, zombie: process }] : [];
    })
  );
}
