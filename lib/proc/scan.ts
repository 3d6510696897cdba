/**
 * What /proc says of everybody who has to do with a GPU, in two steps: who has a node open, which takes no driver and can
 * run while another process asks it; and then whom the driver lists.
 */
import type { Pid } from "../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../core/reading.ts";
import type { Milliseconds } from "../core/units.ts";
import type { DeviceUse, ProcessScan, Reader, ScanCoverage } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import { openDescriptorReader } from "../native/descriptor_reader.ts";
import { bindKcmp, type CompareDescriptors } from "../native/kcmp.ts";
import type { Libc } from "../native/libc.ts";
import { bindPidfd } from "../native/pidfd.ts";
import type { Clock } from "../world/ports.ts";
import { type DescriptorScan, scanDescriptors } from "./descriptors.ts";
import { type DeviceRecogniser, learnFiles } from "./devices.ts";
import { type FamilyOptions, readFamily } from "./family.ts";
import { findHiding } from "./hidden.ts";
import { findMappers } from "./mappers.ts";
import type { ReadProcess } from "./process.ts";
import { readReader } from "./reader.ts";
import { findSharers } from "./sharing.ts";
import { readProcStatus } from "./status.ts";
import { hasSupervisor, listSupervisors } from "./supervisors.ts";
import { hasInheritedNodes, joinUses } from "./uses.ts";
import { readUserNames } from "./users.ts";

export interface ScannerOptions {
  readonly libc: Libc;
  readonly recogniser: DeviceRecogniser;
  readonly clock: Pick<Clock, "monotonic" | "pause">;
  /** `/proc` unless given. */
  readonly procRoot?: string;
  /** The PID namespace in which everybody on the machine has a pid; the kernel's first unless given. */
  readonly firstPidNamespace?: string | undefined;
}

/** What the first step has found. */
export interface HolderScan {
  readonly descriptors: DescriptorScan;
  readonly processes: ReadonlyMap<Pid, ReadProcess>;
  readonly cutShort: Absent | undefined;
}

export interface CompletionOptions {
  readonly deadline: Milliseconds;
  /** Pids that the driver lists. */
  readonly listed: readonly Pid[];
  /** Processes that this program has started for its own ends. */
  readonly helpers: readonly Pid[];
  /** Also looks for nodes among the mappings of processes that have none open. For when memory stays unexplained. */
  readonly withAllMappings: boolean;
}

export interface ProcessScanner extends Disposable {
  /** Reads everybody who has a node open, their mappings and their ancestors. Needs nothing of the driver. */
  scanHolders(deadline: Milliseconds): Promise<HolderScan>;
  /** Adds whom the driver lists, and joins everything. What the deadline leaves out is told in the coverage. */
  complete(holders: HolderScan, options: CompletionOptions): Promise<ProcessScan>;
}

/** Opens a scanner. @throws {Error} if there is no /proc. */
export function openProcessScanner(
  { libc, recogniser, clock, procRoot = "/proc", firstPidNamespace }: ScannerOptions,
): ProcessScanner {
  const reader = openDescriptorReader(libc, procRoot);
  const calls = { reader, pidfd: bindPidfd(libc), procRoot, users: readUserNames() };
  let compare: CompareDescriptors | undefined;
  return {
    async scanHolders(deadline) {
      const descriptors = scanDescriptors({ reader, recogniser, clock, deadline, procRoot });
      const processes = new Map<Pid, ReadProcess>();
      const family = { calls, recogniser: learnFiles(recogniser, descriptors.files), clock, deadline };
      const cutShort = await readFamily(descriptors.held.keys(), processes, family);
      return { descriptors, processes, cutShort: descriptors.coverage.cutShort ?? cutShort };
    },
    complete(holders, options) {
      compare ??= bindKcmp(libc);
      const { deadline } = options;
      const family = {
        calls,
        recogniser: learnFiles(recogniser, holders.descriptors.files),
        clock,
        deadline,
      };
      return completeScan(holders, options, { family, compare, firstPidNamespace });
    },
    [Symbol.dispose]: () => reader[Symbol.dispose](),
  };
}

async function completeScan(
  { descriptors, processes, cutShort }: HolderScan,
  { listed, helpers, withAllMappings }: CompletionOptions,
  { family, compare, firstPidNamespace }: {
    readonly family: FamilyOptions;
    readonly compare: CompareDescriptors;
    readonly firstPidNamespace: string | undefined;
  },
): Promise<ProcessScan> {
  const { procRoot } = family.calls;
  const reader = readReader(procRoot, { helpers, firstPidNamespace });
  const hiding = findHiding(procRoot, reader);
  const read = new Map(processes);
  const mappers = withAllMappings ? await findMappers(read, family) : { pids: [] };
  const missed = await readFamily([...listed, ...mappers.pids], read, family);
  const incomplete = hiding ?? cutShort ?? mappers.cutShort ?? missed;

  const uses = new Map<Pid, readonly DeviceUse[]>();
  for (const [pid, { mappings }] of read) {
    const ofProcess = joinUses(descriptors.held.get(pid)?.nodes ?? [], mappings);
    if (ofProcess.length > 0) uses.set(pid, ofProcess);
  }
  const inheritors = [...uses].filter(([, each]) => hasInheritedNodes(each)).map(([pid]) => pid);
  const { processes: count, unreadable } = descriptors.coverage;
  const coverage: ScanCoverage = {
    processes: count,
    unreadable,
    ownUnreadable: descriptors.refused.filter((pid) => isOwn(pid, reader, procRoot)),
    ...incomplete && { cutShort: incomplete },
  };
  const sharedWith = findSharers(inheritors, descriptors.held, compare);
  const found = new Map(Array.from(read, ([pid, { process }]) => [pid, process]));
  const holders = [...uses.keys(), ...listed].flatMap((pid) => found.get(pid) ?? []);
  const supervisors = await readSupervisors(holders, incomplete, family);
  return { reader, processes: found, uses, sharedWith, supervisors, coverage };
}

/** Whether a process is one that this reader answers for. What has ended meanwhile holds nothing. */
function isOwn(pid: Pid, { isRoot, uid }: Reader, procRoot: string): boolean {
  if (isRoot) return true;
  const status = readProcStatus(`${procRoot}/${pid}`);
  return status.ok ? status.value.uid === uid : status.why !== "exited";
}

/** Reads the supervisors if any holder's owner has one. Of a part of them nothing can be concluded. */
async function readSupervisors(
  holders: readonly Process[],
  incomplete: Absent | undefined,
  family: FamilyOptions,
): Promise<Reading<readonly Process[]>> {
  if (!holders.some(hasSupervisor)) return absent("not-asked");
  if (incomplete) return incomplete;
  const read = new Map<Pid, ReadProcess>();
  const pids = listSupervisors(family.calls.procRoot);
  const missed = await readFamily(pids, read, family);
  if (missed) return missed;
  const found = pids.flatMap((pid) => read.get(pid)?.process ?? []);
  const nameless = found.map(({ argv }) => argv).find((argv) => !argv.ok);
  return nameless && !nameless.ok ? nameless : known(found);
}
