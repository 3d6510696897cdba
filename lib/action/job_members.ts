/** Whose the processes are that the driver lists while a job runs. Only what is new in the list is looked up. */
import { isPid, type Pid } from "../core/ids.ts";
import { findFramework, type Framework } from "../analysis/frameworks.ts";
import type { Member, Membership } from "../analysis/diff_job.ts";
import { contextsOf, type DriverReport } from "../model/gpu.ts";
import type { ProcStat } from "../model/process.ts";
import type { ProcessDetails, ProcessTable } from "../world/ports.ts";
import { visibleProcesses } from "./visible_processes.ts";

/** A process that has been listed for so many looks lives long enough for its habits to matter. */
const LOOKS_BEFORE_FRAMEWORK = 20;
/** How often a chain of parents is followed anew because somebody on it ended meanwhile. */
const ATTEMPTS = 3;

export interface MembersWorld {
  readonly processes: Pick<ProcessTable, "findProcess">;
  readonly details: ProcessDetails;
}

/**
 * Knows the job's processes among those that the driver lists: their ancestors lead to this program, which is the
 * subreaper of all that it starts. Who was once found to be the job's stays so after its end.
 */
export class JobMembers implements Membership {
  readonly members = new Map<Pid, Member>();
  readonly unplaced = new Set<Pid>();
  readonly frameworks = new Map<Pid, Framework | undefined>();
  readonly #before: ReadonlySet<Pid>;
  readonly #others = new Set<Pid>();
  readonly #looks = new Map<Pid, number>();
  readonly #ownPid: Pid;
  readonly #world: MembersWorld;
  #listed: ReadonlySet<Pid>;

  /** @param before pids that were listed before the job began; they are never its. */
  constructor(ownPid: Pid, before: Iterable<Pid>, world: MembersWorld) {
    this.#ownPid = ownPid;
    this.#world = { ...world, processes: visibleProcesses(world.processes) };
    this.#before = new Set(before);
    this.#listed = this.#before;
    for (const pid of this.#before) this.#others.add(pid);
  }

  /** Whether a pid of the latest report is the job's, as far as that can be told now. */
  readonly isJobs = (pid: Pid): boolean => this.members.has(pid) || this.unplaced.has(pid);

  /** Looks up what is new in a report. Must see each report before anything is asked about its pids. */
  place(report: DriverReport): void {
    const listed = new Set<Pid>();
    for (const gpu of report.gpus) {
      for (const { pid } of contextsOf(gpu.processList)) {
        if (listed.has(pid)) continue;
        listed.add(pid);
        // A pid that was away may be another process by now.
        if (!this.#listed.has(pid)) this.#placePid(pid);
        if (this.members.has(pid)) this.#countLook(pid);
      }
    }
    this.#listed = listed;
  }

  /** Looks up pids that no report has listed. Of one that is gone nobody can tell whose it was. */
  placeUnlisted(pids: Iterable<Pid>): void {
    for (const pid of pids) if (!this.members.has(pid) && !this.#others.has(pid)) this.#placePid(pid);
  }

  /** Writes a process of the job down; for those that are found by other means than the driver's list. */
  enrol({ pid, startTicks, comm }: ProcStat): Member {
    const known = this.members.get(pid);
    if (known?.startTicks === startTicks) return known;
    const member = { pid, startTicks, name: comm, argv: this.#world.details.readArguments(pid) };
    this.members.set(pid, member);
    return member;
  }

  #placePid(pid: Pid): void {
    const found = this.#world.processes.findProcess(pid);
    const isOurs = found && this.#descendsFromUs(found);
    if (!found || isOurs === undefined) {
      // A pid that was away may be another process by now, and this one is gone before it could be told from that.
      if (!this.members.has(pid) && !this.#before.has(pid)) this.unplaced.add(pid);
      return;
    }
    this.unplaced.delete(pid);
    if (isOurs) {
      this.enrol(found);
      return;
    }
    this.members.delete(pid);
    this.#others.add(pid);
  }

  /** `undefined` for a process that was gone before its ancestors could be read. */
  #descendsFromUs(process: ProcStat): boolean | undefined {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const answer = this.#followParents(process.pid);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  /** `undefined` where a parent ended while the chain was followed: its children have another one by now. */
  #followParents(start: Pid): boolean | undefined {
    for (let pid = start;;) {
      const process = this.#world.processes.findProcess(pid);
      if (process === undefined) return undefined;
      if (process.parentPid === this.#ownPid) return true;
      if (process.parentPid <= 1 || !isPid(process.parentPid)) return false;
      pid = process.parentPid;
    }
  }

  #countLook(pid: Pid): void {
    const looks = (this.#looks.get(pid) ?? 0) + 1;
    this.#looks.set(pid, looks);
    if (looks !== LOOKS_BEFORE_FRAMEWORK) return;
    const files = this.#world.details.readMappedFiles(pid);
    this.frameworks.set(pid, files.ok ? findFramework(files.value) : undefined);
  }
}
