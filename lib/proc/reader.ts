/** Where this program itself stands: what it cannot see from there is not evidence of absence. */
import { isPid, type Pid } from "../core/ids.ts";
import { formatAbsent } from "../core/reading.ts";
import type { Reader } from "../model/observation.ts";
import { readLink, readText } from "./files.ts";
import { judgeInitialPidNamespace, readPidNamespace } from "./namespaces.ts";
import { findVisibleStat } from "./stat.ts";
import { readProcStatus } from "./status.ts";

/** CAP_SYS_PTRACE is capability 19 (linux/capability.h). */
const SYS_PTRACE = 1n << 19n;
/** The map of the first user namespace (user_namespaces(7)): every id is itself. */
const EVERYBODY = /^\s*0\s+0\s+4294967295\s*$/;

export interface ReaderOptions {
  /** Processes that this program has started for its own ends. */
  readonly helpers: readonly Pid[];
  /** The PID namespace in which everybody on the machine has a pid; the kernel's first unless given. */
  readonly firstPidNamespace?: string | undefined;
}

/**
 * Reads where this program stands.
 *
 * @throws {Error} if this /proc does not show the program itself: it belongs to another PID namespace
 */
export function readReader(procRoot: string, { helpers, firstPidNamespace }: ReaderOptions): Reader {
  const link = readLink(`${procRoot}/self`);
  const status = readProcStatus(`${procRoot}/self`);
  const self = link.ok ? Number(link.value) : NaN;
  if (!isPid(self) || !status.ok) {
    const why = !link.ok ? formatAbsent(link) : status.ok ? link.value : formatAbsent(status);
    throw new Error(`Cannot find this program in ${procRoot}: ${why}`);
  }
  const pidNamespace = readPidNamespace(`${procRoot}/self`);
  return {
    pid: self,
    uid: status.value.effectiveUid,
    isRoot: status.value.effectiveUid === 0,
    mayTrace: mayTrace(`${procRoot}/self`),
    isInitialPidNamespace: judgeInitialPidNamespace(pidNamespace, firstPidNamespace),
    pidNamespace,
    ownPids: [self, ...helpers],
    ancestorPids: listAncestors(self, procRoot),
  };
}

/** Whether it has CAP_SYS_PTRACE over everybody: in a user namespace of its own it would have that over few. */
function mayTrace(directory: string): boolean {
  const [status, users] = [readText(`${directory}/status`), readText(`${directory}/uid_map`)];
  const [, rights = "0"] = /^CapEff:\t([0-9a-f]{1,32})$/m.exec(status.ok ? status.value : "") ?? [];
  const isEverybodys = users.ok && EVERYBODY.test(users.value);
  return isEverybodys && (BigInt(`0x${rights}`) & SYS_PTRACE) !== 0n;
}

/** Its parent, grandparent and so on, and the leader of its session, which a terminal's fate hangs on. */
function listAncestors(self: Pid, procRoot: string): Pid[] {
  const found = new Set<Pid>();
  const own = findVisibleStat(`${procRoot}/${self}`);
  let next = own;
  while (next && isPid(next.parentPid) && !found.has(next.parentPid)) {
    found.add(next.parentPid);
    next = findVisibleStat(`${procRoot}/${next.parentPid}`);
  }
  if (own && isPid(own.session) && own.session !== self) found.add(own.session);
  return [...found];
}
