import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TemporaryFolder, temporaryFolder } from "./temporary.ts";

/** One process of a /proc that is made of plain files. What is left out is as of a shell's child at rest. */
export interface TreeProcess {
  readonly pid: number;
  readonly parent?: number;
  readonly session?: number;
  readonly comm?: string;
  readonly argv?: readonly string[];
  readonly cgroup?: string;
  /** Targets of its descriptors, from 0 on. */
  readonly files?: readonly string[];
  readonly maps?: string;
  /** Whose it is; root's unless told. */
  readonly user?: number;
  /** Only root may list its descriptors. */
  readonly isClosed?: boolean;
}

/** A /proc of plain files, for what no test can make of real processes. The first process is the reader itself. */
export function procTree(processes: readonly TreeProcess[]): TemporaryFolder {
  const folder = temporaryFolder();
  for (const process of processes) writeProcess(join(folder.path, String(process.pid)), process);
  symlinkSync(String(processes[0]?.pid), join(folder.path, "self"));
  return folder;
}

function writeProcess(directory: string, process: TreeProcess): void {
  const {
    pid,
    parent = 1,
    session = pid,
    comm = "python",
    argv = [comm],
    cgroup = "/",
    files = [],
    maps = "",
    user = 0,
    isClosed = false,
  } = process;
  for (const name of ["fd", "ns", "task"]) mkdirSync(join(directory, name), { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
  write(
    "stat",
    `${pid} (${comm}) S ${parent} ${pid} ${session} 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 ${pid}00 0 0 0\n`,
  );
  write("status", `Uid:\t${user}\t${user}\t${user}\t${user}\nNSpid:\t${pid}\nSigIgn:\t0000000000000000\n`);
  write("cmdline", argv.map((word) => `${word}\0`).join(""));
  write("environ", "");
  write("cgroup", `0::${cgroup}\n`);
  write("maps", maps);
  symlinkSync("/usr/bin/python3", join(directory, "exe"));
  symlinkSync("pid:[4026531836]", join(directory, "ns/pid"));
  for (const [descriptor, target] of files.entries()) {
    symlinkSync(target, join(directory, "fd", String(descriptor)));
  }
  if (isClosed) chmodSync(join(directory, "fd"), 0o700);
}
