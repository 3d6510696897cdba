/** What became of the Jupyter server of a kernel. An idle kernel has its user's work in memory, so it takes proof. */
import type { ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import { hasEnded } from "./facts.ts";
import { ancestorsOf, findStarter, isPython, isReaper } from "./lineage.ts";
import { judgeOwnerByParent, type OwnerFinding, variableOf } from "./owners.ts";

const SERVER = "its Jupyter server";

/** Judges a kernel's server by the pid that the server has given it: gone only if that pid is not the server's any more. */
export function judgeServer(kernel: Process, scan: ProcessScan): OwnerFinding {
  const said = Number(variableOf(kernel, "JPY_PARENT_PID") ?? NaN);
  if (!Number.isSafeInteger(said)) {
    // Started by hand, by an editor, or with its variables overwritten.
    const starter = judgeOwnerByParent(kernel, SERVER, scan);
    return starter.state === "gone"
      ? { state: "unknown", why: "nothing says which server it belongs to" }
      : starter;
  }
  const above = ancestorsOf(kernel, scan).find((ancestor) => isNumbered(ancestor, said, kernel));
  if (above) return { state: "alive", why: `${SERVER}, PID ${above.pid}, lives` };
  const starter = findStarter(kernel, scan);
  const isAdopted = starter.state === "gone" &&
    (starter.adoptedBy.pid === scan.reader.pid || isReaper(starter.adoptedBy, scan));
  if (!isAdopted || !kernel.namespacePids.ok) {
    return { state: "unknown", why: `whether ${SERVER}, PID ${said}, lives is not known` };
  }
  return judgeBearer(kernel, said, scan);
}

/** Judges whether the process that has the server's pid now may be the server. */
function judgeBearer(kernel: Process, said: number, scan: ProcessScan): OwnerFinding {
  const bearers = [...scan.processes.values()].filter((process) =>
    isNumbered(process, said, kernel) && !hasEnded(process)
  );
  if (bearers.length === 0) return { state: "gone", why: `${SERVER}, PID ${said}, has ended` };
  const mayBeServer = bearers.some((bearer) =>
    bearer.startTicks <= kernel.startTicks && (!bearer.executable.ok || isPython(bearer))
  );
  return mayBeServer
    ? { state: "unknown", why: `PID ${said} lives and may be ${SERVER}` }
    : { state: "gone", why: `${SERVER} has ended: PID ${said} is another program now` };
}

/** Says whether a process may have this number in the kernel's own PID namespace, the one that its server counts in. */
function isNumbered({ pid, namespacePids, pidNamespace }: Process, number: number, kernel: Process): boolean {
  if (!kernel.namespacePids.ok) return false;
  if (!namespacePids.ok) return pid === number || kernel.namespacePids.value.length > 1;
  if (namespacePids.value.length !== kernel.namespacePids.value.length) return false;
  if (namespacePids.value.at(-1) !== number) return false;
  return !pidNamespace.ok || !kernel.pidNamespace.ok || pidNamespace.value === kernel.pidNamespace.value;
}
