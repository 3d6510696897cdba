/** Joins the driver's newest answer with processes that were looked at a while ago. */
import type { Pid } from "../../core/ids.ts";
import { absent } from "../../core/reading.ts";
import { contextsOf, type DriverReport } from "../../model/gpu.ts";
import type { ProcessScan } from "../../model/observation.ts";
import { isStillRunning, type Process, type ProcStat } from "../../model/process.ts";
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

/** The same scan with those who came later, of whom nothing is known but that they live. */
export function withNewcomers(scan: ProcessScan, listed: Iterable<Pid>, find: FindProcess): ProcessScan {
  const newcomers = [...listed].flatMap((pid) => {
    const found = find(pid);
    const known = scan.processes.get(pid);
    const isNew = found !== undefined && isStillRunning(found) && known?.startTicks !== found.startTicks;
    return isNew ? [newcomer(found)] : [];
  });
  if (newcomers.length === 0) return scan;
  const fresh = new Set(newcomers.map(({ pid }) => pid));
  return {
    ...scan,
    processes: new Map([...scan.processes, ...newcomers.map((each) => [each.pid, each] as const)]),
    // What another process had under the same pid is not theirs.
    uses: new Map([...scan.uses].filter(([pid]) => !fresh.has(pid))),
    coverage: { ...scan.coverage, cutShort: scan.coverage.cutShort ?? NOT_YET },
  };
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
