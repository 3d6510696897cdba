/** A Debian with a real systemd, booted in a container on this machine. Needs root, debootstrap and systemd-nspawn. */
import { copyFileSync, existsSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Ended, type RunningProgram, runProgram, startProgram } from "./running_program.ts";
import { temporaryFolder } from "./temporary.ts";
import { until } from "./until.ts";

type Command = readonly [string, ...string[]];

/** What machines are booted from. */
export interface DebianTree extends Disposable {
  readonly path: string;
}

/** A booted machine. Disposing of it ends everything in it. */
export interface BootedMachine extends AsyncDisposable {
  /** Where its root folder lies on this machine. */
  readonly root: string;
  /** Runs a command in it to its end. */
  run(command: Command): Promise<Ended>;
  /** Starts a command in it. */
  start(command: Command): RunningProgram;
  /** What a command prints. @throws {Error} if it fails */
  ask(command: Command): Promise<string>;
}

const BINARY = fileURLToPath(new URL("../../dist/gpuctl", import.meta.url));
const SUITE = "bookworm";
/** A tree that debootstrap made before, for a machine that reaches no mirror of Debian's. */
const READY_TREE = process.env["GPUCTL_TEST_DEBIAN"];
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const BOOT_LIMIT_MS = 60_000;

/** Makes the tree that machines are booted from. @throws {Error} if a tool is missing or no mirror answers */
export async function makeDebian(): Promise<DebianTree> {
  if (READY_TREE !== undefined) return { path: READY_TREE, [Symbol.dispose]() {} };
  const folder = temporaryFolder();
  const tree = join(folder.path, "debian");
  const packages = "--include=systemd,systemd-sysv,dbus";
  const made = await runProgram(["debootstrap", "--variant=minbase", packages, SUITE, tree], {
    within: 240_000,
  });
  if (made.status !== 0) throw new Error(`Cannot make a Debian: ${made.stdout.slice(-2000)}${made.stderr}`);
  return { path: tree, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** Boots a copy of the tree with gpuctl in it, and waits until its systemd is at work. */
export async function bootDebian(debian: DebianTree): Promise<BootedMachine> {
  const folder = temporaryFolder();
  const root = join(folder.path, "root");
  const copied = await runProgram(["cp", "--archive", "--reflink=auto", debian.path, root]);
  if (copied.status !== 0) throw new Error(`Cannot copy the Debian: ${copied.stderr}`);
  copyFileSync(BINARY, join(root, "usr/local/bin/gpuctl"));

  const nspawn = startProgram([
    // In a PID namespace of its own, which the kernel clears when its first process goes, however that comes about.
    ...["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] as const,
    ...["systemd-nspawn", `--directory=${root}`, "--boot", "--register=no", "--keep-unit", "--console=pipe"],
  ]);
  const machine = machineOf(root, nspawn, async () => {
    const leader = leaderOf(nspawn.pid);
    await nspawn[Symbol.asyncDispose]();
    await until("the machine to be gone", () => leader === undefined || !existsSync(`/proc/${leader}`));
    removeNspawnCgroups();
    folder[Symbol.dispose]();
  });
  try {
    await until("systemd to be at work", async () => {
      if (leaderOf(nspawn.pid) === undefined) return false;
      return (await machine.run(["systemctl", "is-system-running"])).stdout === "running\n";
    }, { within: BOOT_LIMIT_MS });
    return machine;
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw new Error(`Cannot boot the Debian: ${nspawn.stdout}${nspawn.stderr}`, { cause: error });
  }
}

function machineOf(root: string, { pid }: RunningProgram, end: () => Promise<void>): BootedMachine {
  const inside = (command: Command): Command => {
    const enter = ["nsenter", `--target=${leaderOf(pid)}`, "--all"] as const;
    return [...enter, "env", "--chdir=/", "--ignore-environment", `PATH=${PATH}`, ...command];
  };
  const run = (command: Command) => runProgram(inside(command));
  return {
    root,
    run,
    start: (command) => startProgram(inside(command)),
    async ask(command) {
      const { status, stdout, stderr } = await run(command);
      if (status !== 0) throw new Error(`${command.join(" ")} failed with ${status}: ${stdout}${stderr}`);
      return stdout;
    },
    [Symbol.asyncDispose]: end,
  };
}

/** The machine's first process: unshare starts nspawn, nspawn starts it. */
function leaderOf(unshare: number): number | undefined {
  const nspawn = childOf(unshare);
  return nspawn === undefined ? undefined : childOf(nspawn);
}

function childOf(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")[0]) || undefined;
  } catch {
    return undefined; // It has ended, and has no children any more.
  }
}

/** nspawn makes two control groups below ours and leaves them behind. */
function removeNspawnCgroups(): void {
  const own = /^\d+:(?:name=systemd)?:(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1] ?? "/";
  for (const hierarchy of ["", "systemd", "unified"]) {
    for (const name of ["payload", "supervisor"]) removeCgroup(join("/sys/fs/cgroup", hierarchy, own, name));
  }
}

function removeCgroup(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  }
  try {
    rmdirSync(path);
  } catch {
    // It is in use: another machine's.
  }
}
