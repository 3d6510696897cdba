/** Everybody who has a GPU open, by name, and who may take it from them. */
import type { Pid } from "../core/ids.ts";
import { isTrue } from "../core/reading.ts";
import { plural, quoteArguments } from "../core/text.ts";
import { contextsOf, type Gpu } from "../model/gpu.ts";
import type { Process } from "../model/process.ts";
import type { Blocker } from "../model/reset.ts";
import type { GpuService } from "../model/reset_facts.ts";
import type { Holder } from "../model/snapshot.ts";
import { isInStateD } from "./facts.ts";
import { findEvictable } from "./reset_eviction.ts";
import { isOlderThan } from "./reset_links.ts";
import { machineGpus, nameProcess, type ResetInput } from "./reset_input.ts";
import { findOwnOpening, type GpuUser, hasPartOf, usersOf } from "./reset_users.ts";
import { findNamedRole, findRole } from "./roles.ts";

interface UserUse {
  readonly user: GpuUser;
  readonly why: string;
}

/** What takes a process away from a GPU. */
type Verdict = Pick<Blocker, "kind" | "why" | "remedy" | "clearedBy" | "unit">;

/** One blocker for each process on each chosen GPU. None is left out: who only has it open makes a reset fail as well. */
export function findProcessBlockers(input: ResetInput): Blocker[] {
  const evictable = findEvictable(input);
  return input.gpus.flatMap((gpu) => [
    ...findOwnOpening(gpu, input),
    ...usersOf(gpu, input).map((user): Blocker => ({
      gpu: gpu.uuid,
      pid: user.pid,
      who: nameProcess(user.pid, input),
      ...judgeUser(user, input, evictable),
    })),
  ]);
}

function judgeUser(user: GpuUser, input: ResetInput, evictable: ReadonlySet<Pid>): Verdict {
  const { process, pid } = user;
  const why = describeUse(user);
  if (isStuck(user)) {
    return {
      kind: "stuck",
      why: `${why} and waits in the driver: no signal reaches it, and nvidia-smi refuses a reset`,
      remedy: "look again in a minute; if it stays, reboot",
      clearedBy: "nobody",
    };
  }
  const unit = unitOf(user);
  const service = findService(pid, isSystemUnit(user) ? unit : undefined, input);
  if (service !== undefined) return judgeService(service, { user, why }, input);
  const role = process && findRole(process);
  if (role?.kind === "role" && role.role === "mps-server") return judgeMps(user, why);
  if (role?.kind === "role" && role.role === "display") return judgeDisplay(input, why);
  if (evictable.has(pid)) {
    return {
      kind: kindOf(user),
      why: `${why}: ${user.holder?.class ?? "unknown"}, ${user.holder?.evidence[0] ?? "left behind"}`,
      remedy: "--evict ends it first",
      clearedBy: "evict",
    };
  }
  if (process && role?.kind === "role" && role.unit !== undefined && isSystemUnit(user)) {
    return { kind: "service", ...judgeUnit(role.unit, { process, why }, input) };
  }
  // Ended by a signal, a daemon of the driver may leave the GPU worse than before.
  const remedy = remedyByOwner(user) ?? (role?.kind === "role" ? STOP_PROPERLY : remedyByClass(user));
  return { kind: kindOf(user), why, remedy, clearedBy: "nobody" };
}

function isStuck({ process, holder }: GpuUser): boolean {
  return holder?.class === "stuck" || (holder === undefined && process !== undefined && isInStateD(process));
}

function kindOf({ holds }: GpuUser): "holder" | "opener" {
  return holds ? "holder" : "opener";
}

function describeUse({ holder, gpu, holds }: GpuUser): string {
  if (!holds) return "has it open";
  const rows = contextsOf(gpu.processList).filter(({ pid }) => pid === holder?.pid);
  if (rows.some(({ gpuInstance }) => gpuInstance !== undefined)) return "has memory on a MIG instance of it";
  return rows.length > 0 ? "has memory on it" : "has it mapped";
}

function unitOf({ process, holder }: GpuUser): string | undefined {
  const owner = holder?.owner ?? process?.owner;
  return owner?.ok ? owner.value.unit : undefined;
}

function findService(pid: Pid, unit: string | undefined, { facts }: ResetInput): GpuService | undefined {
  if (!facts.services.ok) return undefined;
  return facts.services.value.find(({ mainPid }) => mainPid.ok && mainPid.value === pid) ??
    (unit === undefined ? undefined : facts.services.value.find((service) => service.unit === unit));
}

function stoppable(unit: string, why: string): Omit<Verdict, "kind"> {
  return { unit, why: `${why}; runs in ${unit}`, remedy: stopOrder(unit), clearedBy: "stop-services" };
}

/**
 * A unit of which nothing is known but its name may be anybody's training, or run everybody's: while one of its processes
 * has memory, on whichever GPU, it is at work.
 */
function judgeUnit(
  unit: string,
  { process, why }: { readonly process: Process; readonly why: string },
  { snapshot }: ResetInput,
): Omit<Verdict, "kind"> {
  const verdict = stoppable(unit, why);
  const worker = snapshot.holders.find(({ owner, devices }) =>
    owner.ok && owner.value.unit === unit && devices.some(hasPartOf)
  );
  if (worker === undefined || findNamedRole(process)?.kind === "role") return verdict;
  const work = `PID ${worker.pid} of it has memory on a GPU: that is work, which nobody but you may stop`;
  return { why: `${verdict.why}; ${work}`, remedy: verdict.remedy, clearedBy: "nobody" };
}

/** To be pasted into a shell: a cgroup is named by whoever makes it. */
function stopOrder(unit: string): string {
  return quoteArguments(["systemctl", "stop", unit]);
}

function judgeService({ kind, unit }: GpuService, { user, why }: UserUse, input: ResetInput): Verdict {
  const { gpu } = user;
  if (kind === "persistence-daemon" && isTrue(gpu.persistenceMode)) {
    return {
      kind: "service",
      unit,
      why: `${why}; it closes it when persistence mode is switched off`,
      remedy: "none needed: it need not be stopped",
      clearedBy: "plan",
    };
  }
  if (kind === "fabric-manager") return judgeFabricManager(unit, gpu, why);
  if (kind === "mps") return judgeMpsService(unit, { user, why }, input);
  if (kind === "display-manager") return { kind: "display", ...stoppable(unit, why) };
  return { kind: kind === "imex" ? "imex" : "service", ...stoppable(unit, why) };
}

/** Ampere behind NVSwitches needs it to be reset alone; later ones do not care; before that it is in the way. */
function judgeFabricManager(unit: string, gpu: Gpu, why: string): Verdict {
  if (isOlderThan(gpu, "Ampere") !== false) return { kind: "fabric-manager", ...stoppable(unit, why) };
  return {
    kind: "fabric-manager",
    why: isOlderThan(gpu, "Hopper")
      ? "has to keep running: without it every GPU of the NVSwitches would have to be reset at once"
      : "does not stand in the way from Hopper on",
    remedy: "leave it running",
    clearedBy: "warning",
  };
}

/** It serves all GPUs with one daemon: whoever stops that ends every client, on each of them. */
function judgeMpsService(unit: string, { user, why }: UserUse, input: ResetInput): Verdict {
  const isServing = machineGpus(input).some(({ processList }) =>
    processList.state !== "known" || contextsOf(processList).some(({ kind }) => kind === "mps-client")
  );
  const verdict = judgeMps(user, why);
  return isServing ? verdict : { ...verdict, ...stoppable(unit, verdict.why) };
}

function judgeMps(user: GpuUser, why: string): Verdict {
  return {
    kind: "mps",
    why: describeMps(user, why),
    remedy: "echo quit | nvidia-cuda-mps-control, once its clients have ended",
    clearedBy: "nobody",
  };
}

function describeMps({ gpu }: GpuUser, why: string): string {
  const clients = contextsOf(gpu.processList).filter(({ kind }) => kind === "mps-client").length;
  return `${why}; it serves ${plural(clients, "MPS client")} on it`;
}

/** A display server lives in a session of its display manager. Without one only its user can end it. */
function judgeDisplay({ facts }: ResetInput, why: string): Verdict {
  const manager = facts.services.ok
    ? facts.services.value.find(({ kind, isActive }) => kind === "display-manager" && isActive)
    : undefined;
  if (manager !== undefined) {
    return {
      kind: "display",
      unit: manager.unit,
      why: `${why}; stopping ${manager.unit} ends every desktop session`,
      remedy: stopOrder(manager.unit),
      clearedBy: "stop-services",
    };
  }
  return { kind: "display", why, remedy: "log out, or stop the display server", clearedBy: "nobody" };
}

/**
 * Says whether systemctl stops a process by the unit of its cgroup. Whoever has a part of the cgroup tree for himself, a
 * user's own manager or a service with `Delegate=`, can name what is below after anybody's unit: only the first that is
 * no slice counts, if it is a name that systemd gives (systemd.unit(5)).
 */
function isSystemUnit({ process }: GpuUser): boolean {
  if (!process?.owner.ok) return false;
  const { cgroup, container, pod, unit } = process.owner.value;
  if (container !== undefined || pod !== undefined || unit === undefined) return false;
  const first = cgroup.split("/").find((part) => part !== "" && !part.endsWith(".slice"));
  return first === unit && UNIT_NAME.test(unit);
}

const UNIT_NAME = /^[\w:.\\@][\w:.\\@-]*\.service$/;

/** Who belongs to something larger is ended with it. */
function remedyByOwner({ process, holder }: GpuUser): string | undefined {
  if (holder?.class === "exiting") return "it is on its way out: wait a moment and look again";
  const owner = holder?.owner ?? process?.owner;
  const { slurmJob, container, pod } = owner?.ok ? owner.value : NOBODY;
  if (slurmJob !== undefined) return `end its Slurm job: ${quoteArguments(["scancel", slurmJob])}`;
  if (pod !== undefined) return `delete or drain its pod, ${pod}`;
  return container === undefined ? undefined : `stop its container, ${container.id.slice(0, 12)}`;
}

/** What a person can do about a process that belongs to nothing larger. Nobody is told to kill who is at work. */
function remedyByClass({ pid, process, holder }: GpuUser): string {
  const user = holder?.user ?? process?.user;
  const whom = user?.ok && user.value !== "root" ? user.value : "whoever started it";
  switch (holder?.class) {
    case "live":
      return `it is at work: wait until it has ended, or ask ${whom} to end ${nameWork(holder)}`;
    case "detached":
      return `it runs on its own on purpose: wait until it has ended, or ask ${whom}`;
    case "monitor":
      return `close it, or ask ${whom} to; it opens the GPU and uses nothing of it`;
    case "stopped":
      return `it is suspended: ask ${whom}, or end it with --evict --pid ${pid}`;
    case "orphan":
    case "inherited":
    case "zombie-leader":
    case "job-leftover":
      return `it was left behind, and is too young or too busy to be ended without being named: --evict --pid ${pid}`;
    default:
      return `ask ${whom}: whether it is at work could not be told`;
  }
}

function nameWork({ job }: Holder): string {
  return job === undefined ? "it" : `the ${job.launcher} job of PID ${job.firstPid}`;
}

const STOP_PROPERLY = "stop it by what started it; it is a part of the machine, so do not kill it";

const NOBODY: {
  readonly slurmJob?: string;
  readonly container?: { readonly id: string };
  readonly pod?: string;
} = {};
