/** Who started whom, and who is only the one that takes orphans in. */
import { isPid } from "../core/ids.ts";
import type { ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";

/** The part of a scan that lineage is read from. */
export type Family = Pick<ProcessScan, "processes" | "reader">;

/** What became of the process that started another one. */
export type Starter =
  | { readonly state: "alive"; readonly process: Process }
  | { readonly state: "gone"; readonly adoptedBy: Process }
  | { readonly state: "unknown"; readonly why: string };

/** Programs that take in the orphans of a whole machine or of a user's sessions, and start nobody's job by themselves. */
const MACHINE_INITS = new Set(["systemd", "init", "openrc-init", "runit", "s6-svscan", "dinit"]);
/** Programs whose work is to be PID 1 of a container. They start its payload as well. */
const CONTAINER_INITS = new Set(
  ["tini", "tini-static", "dumb-init", "docker-init", "catatonit", "pause", "s6-overlay-suexec"],
);
/**
 * Other programs that take in people's orphans or wait for commands: shells, session holders, watchers over containers and
 * Slurm's jobs. None of them starts a worker of a Python program by itself.
 */
const ADOPTERS = new Set([
  ...["bash", "sh", "dash", "zsh", "fish", "ksh", "tcsh", "busybox"],
  ...["tmux", "screen", "sshd", "sshd-session", "login", "mosh-server"],
  ...["containerd-shim", "containerd-shim-runc-v2", "conmon", "crun", "runc", "systemd-nspawn", "lxc-start"],
  ...["slurmstepd"],
]);
const MULTIPLEXERS = new Set(["tmux", "tmux: server", "screen", "zellij", "dtach", "abduco"]);

/** All of these: programs that start or take in other people's jobs. */
export const FAMILY_PROGRAMS: readonly string[] = [
  ...MACHINE_INITS,
  ...CONTAINER_INITS,
  ...ADOPTERS,
  ...MULTIPLEXERS,
];

/** The program a process runs: the file's name, or the kernel's short name where the file cannot be read. */
export function programOf(process: Process): string {
  const path = process.executable.ok ? process.executable.value.replace(/ \(deleted\)$/, "") : process.comm;
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Says whether a process runs a Python interpreter, by its executable: `python3`, `python3.13t`, `pypy3`. */
export function isPython(process: Process): boolean {
  return isPythonName(programOf(process));
}

/** Says whether a program of this name is a Python interpreter. */
export function isPythonName(program: string): boolean {
  return /^(?:python|pypy)[\d.]*[a-z]{0,2}$/.test(program);
}

/** Its parent, if it is known. */
export function parentOf(process: Process, { processes }: Pick<Family, "processes">): Process | undefined {
  return isPid(process.parentPid) ? processes.get(process.parentPid) : undefined;
}

/** Its parent, grandparent and so on, as far as they are known. */
export function ancestorsOf(process: Process, family: Pick<Family, "processes">): Process[] {
  const chain: Process[] = [];
  const seen = new Set<number>([process.pid]);
  for (let next = parentOf(process, family); next && !seen.has(next.pid); next = parentOf(next, family)) {
    chain.push(next);
    seen.add(next.pid);
  }
  return chain;
}

/**
 * Finds out whether the process that started a worker still lives. A parent of 1 proves nothing by itself and another
 * parent clears nothing (subreapers): what counts is whether the parent is a program that could have started it.
 */
export function findStarter(worker: Process, family: Family): Starter {
  const parent = parentOf(worker, family);
  if (parent === undefined) {
    return { state: "unknown", why: `its parent, PID ${worker.parentPid}, cannot be seen from here` };
  }
  // While it runs a job this program takes the job's orphans in itself.
  if (parent.pid === family.reader.pid) return { state: "gone", adoptedBy: parent };
  if (isAlike(parent, worker)) return { state: "alive", process: parent };
  if (!isOfSameNamespace(worker, parent)) return judgeOutsider(parent, family);
  if (parent.pid === 1 || isAdopter(parent)) return { state: "gone", adoptedBy: parent };
  return {
    state: "unknown",
    why: `its parent, PID ${parent.pid} (${parent.comm}), may or may not have started it`,
  };
}

/** The terminal multiplexer that a process runs under, if any. */
export function findMultiplexer(process: Process, family: Family): Process | undefined {
  return ancestorsOf(process, family).find((ancestor) => MULTIPLEXERS.has(programOf(ancestor)));
}

/** Says whether a process is one that takes orphans in. A name that it gives itself does not make it one. */
export function isAdopter(process: Process): boolean {
  return isInit(process) || runsOneOf(ADOPTERS, process);
}

/** Says whether a process runs a program whose work is to be PID 1, of a machine or of a container. */
export function isInit(process: Process): boolean {
  return runsOneOf(MACHINE_INITS, process) || runsOneOf(CONTAINER_INITS, process);
}

/** Says whether a process only ever becomes the parent of a job by adopting it: PID 1 of the machine, a user's systemd. */
export function isMachineReaper(process: Process, { reader }: Family): boolean {
  const isFirst = reader.isInitialPidNamespace.ok && reader.isInitialPidNamespace.value;
  return (process.pid === 1 && isFirst) || runsOneOf(MACHINE_INITS, process);
}

/** Says whether orphans end up with a process: it is PID 1 of some namespace, or runs a program made to be that. */
export function isReaper(process: Process, family: Family): boolean {
  return process.pid === 1 || isMachineReaper(process, family) || isInit(process) ||
    isFirstOfNamespace(process);
}

/** Says whether a process is PID 1 of a PID namespace below the reader's: ending it ends everything in there. */
export function isFirstOfNamespace({ namespacePids }: Process): boolean {
  return namespacePids.ok && namespacePids.value.length > 1 && namespacePids.value.at(-1) === 1;
}

/** Orphans stay in their PID namespace (pid_namespaces(7)): a parent outside it has brought the process in. */
function judgeOutsider(parent: Process, family: Family): Starter {
  if (!isMachineReaper(parent, family)) return { state: "alive", process: parent };
  return { state: "unknown", why: "it was brought into its PID namespace from outside" };
}

/** A process is as deep as its parent or deeper, and nobody is above the reader's own namespace. */
function isOfSameNamespace(worker: Process, parent: Process): boolean {
  if (!worker.namespacePids.ok) return false;
  const depth = worker.namespacePids.value.length;
  return depth === 1 || (parent.namespacePids.ok && parent.namespacePids.value.length === depth);
}

function runsOneOf(programs: ReadonlySet<string>, process: Process): boolean {
  return process.executable.ok && programs.has(programOf(process));
}

function isAlike(parent: Process, worker: Process): boolean {
  if (isPython(parent)) return true;
  return parent.executable.ok && worker.executable.ok &&
    parent.executable.value === worker.executable.value &&
    !isAdopter(parent);
}
