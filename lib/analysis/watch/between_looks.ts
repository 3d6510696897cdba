/** Joins the driver's newest answer with processes that were looked at a while ago. */
import type { Pid } from "../../core/ids.ts";
import { absent, known } from "../../core/reading.ts";
import { contextsOf, type DriverReport } from "../../model/gpu.ts";
import type { Observation, ProcessScan } from "../../model/observation.ts";
import { isStillRunning, type Process, type ProcStat } from "../../model/process.ts";
import type { Holder, Snapshot } from "../../model/snapshot.ts";
import { attribute } from "../attribute.ts";
import { hasEnded } from "../facts.ts";

type FindProcess = (pid: Pid) => ProcStat | undefined;

const NOT_YET = absent("not-asked", "it came after the last look at every process");

/** Everybody whom the driver lists, each once. */
export function listedPids({ gpus }: Pick<DriverReport, "gpus">): Set<Pid> {
  return new Set(gpus.flatMap(({ processList }) => contextsOf(processList).map(({ pid }) => pid)));
}

/** Whether somebody who is listed has begun or ended since the look. */
export function isOutdated(
  scan: Pick<ProcessScan, "processes">,
  listed: Iterable<Pid>,
  find: FindProcess,
): boolean {
  for (const pid of listed) {
    const [then, now] = [scan.processes.get(pid), find(pid)];
    const wasAlive = then !== undefined && !hasEnded(then);
    const isAlive = now !== undefined && isStillRunning(now);
    if (wasAlive !== isAlive || (then && now && then.startTicks !== now.startTicks)) return true;
  }
  return false;
}

/** The driver's newest answer and an older look, as one snapshot. Who came later is there, and is not judged yet. */
export function attributeBetween(
  observation: Observation,
  report: DriverReport,
  find: FindProcess,
): Snapshot {
  const { scan } = observation;
  const newcomers = scan.ok ? findNewcomers(scan.value, listedPids(report), find) : [];
  if (!scan.ok || newcomers.length === 0) return attribute({ ...observation, report: known(report) });
  const fresh = new Set(newcomers.map(({ pid }) => pid));
  const snapshot = attribute({
    ...observation,
    report: known(report),
    scan: known({
      ...scan.value,
      processes: new Map([...scan.value.processes, ...newcomers.map((each) => [each.pid, each] as const)]),
      // What another process had under the same pid is not theirs.
      uses: new Map([...scan.value.uses].filter(([pid]) => !fresh.has(pid))),
      coverage: { ...scan.value.coverage, cutShort: scan.value.coverage.cutShort ?? NOT_YET },
    }),
  });
  const holders = snapshot.holders.map((holder) =>
    fresh.has(holder.pid) ? { ...holder, ...UNJUDGED } : holder
  );
  return { ...snapshot, holders };
}

const UNJUDGED = {
  class: "unknown",
  evidence: ["it came after the last look at every process"],
  advice: "wait for the next look at every process",
} as const satisfies Partial<Holder>;

function findNewcomers(scan: ProcessScan, listed: Iterable<Pid>, find: FindProcess): Process[] {
  return [...listed].flatMap((pid) => {
    const found = find(pid);
    const isNew = found !== undefined && isStillRunning(found) &&
      scan.processes.get(pid)?.startTicks !== found.startTicks;
    return isNew ? [newcomer(found)] : [];
  });
}

function newcomer(stat: ProcStat): Process {
  return {
    ...stat,
    uid: NOT_YET,
    user: NOT_YET,
    argv: NOT_YET,
    executable: NOT_YET,
    owner: NOT_YET,
    environment: NOT_YET,
    namespacePids: NOT_YET,
    pidNamespace: NOT_YET,
    ignoresHangup: NOT_YET,
    stdio: NOT_YET,
    threadStates: NOT_YET,
    waitsIn: NOT_YET,
  };
}
