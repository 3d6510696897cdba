/**
 * Reads /proc/PID/fd without a string for each descriptor: about as fast as C, and never blocked by a file system that
 * has stopped answering, as statx(2) with AT_STATX_DONT_SYNC takes what the kernel already knows.
 */
import { cString, type Libc } from "./libc.ts";

/** fcntl.h and linux/stat.h, where both processors agree. */
const AT = { EMPTY_PATH: 0x1000, NO_AUTOMOUNT: 0x800, STATX_DONT_SYNC: 0x4000 } as const;
const STATX = { TYPE: 0x1, NLINK: 0x4, INO: 0x100, SIZE: 0x200 } as const;
const O_RDONLY_CLOEXEC = 0o2000000;
const S_IFMT = 0o170000;
/** The kinds of files that are told apart (inode(7)). */
const KINDS: Readonly<Record<number, OpenFile["kind"]>> = {
  0o010000: "pipe",
  0o020000: "character",
  0o100000: "regular",
};

/** `struct statx` of statx(2): u32 links, u16 mode, u64 ino, u64 size, and the halves of both device numbers as u32. */
const STATX_AT = {
  size: 256,
  links: 16,
  mode: 28,
  ino: 32,
  length: 40,
  rdevMajor: 128,
  devMajor: 136,
} as const;
/** Links of a directory without subdirectories. */
const OWN_LINKS = 2;
/** `struct linux_dirent64` of getdents64(2): u16 record length; the name ends in NUL. */
const DIRENT_AT = { recordLength: 16, name: 19 } as const;
const ENTRIES_SIZE = 32_768;
/** "PID/task/TID/fd" and a descriptor's number. */
const PATH_SIZE = 64;
const DOT = 46;
const ZERO = 48;

/** What an open file is. One object is used again for every file: keep its values, not it. */
export interface OpenFile {
  kind: "character" | "regular" | "pipe" | "other";
  /** Of the device that a node stands for. */
  nodeMajor: number;
  nodeMinor: number;
  /** Of the file system that the file lies on. */
  deviceMajor: number;
  deviceMinor: number;
  inode: number | bigint;
}

/** One process's descriptors, as far as they were recognised. */
export interface DescriptorTable<T> {
  readonly found: readonly { readonly descriptor: number; readonly what: T }[];
  /** How many descriptors were asked about. */
  readonly count: number;
  /** A descriptor that is listed and whose file the kernel told nothing of. */
  readonly refused?: number;
}

export interface DescriptorReader extends Disposable {
  /**
   * Asks `recognise` about every open file of one table, `812/fd` or `812/task/815/fd`; `undefined` if the table cannot be
   * opened. A descriptor that is open all the while is not missed.
   */
  read<T>(table: string, recognise: (file: OpenFile) => T | undefined): DescriptorTable<T> | undefined;
  /** What kind of file one descriptor leads to, `812/fd/1`; `undefined` if the kernel does not say. */
  findKind(descriptor: string): OpenFile["kind"] | undefined;
  /** How many threads a process has, by the links of its directory `812/task` (proc_task_getattr); 0 once it has none. */
  countThreads(directory: string): number;
}

/** Opens a reader for the processes below `procRoot`. @throws {Error} if there is no such directory. */
export function openDescriptorReader(libc: Libc, procRoot: string): DescriptorReader {
  const statxSignature = { args: ["i32", "ptr", "i32", "u32", "ptr"], returns: "i32" } as const;
  const listSignature = { args: ["i32", "ptr", "u32"], returns: "i32" } as const;
  const statx = libc.find("statx", statxSignature) ?? libc.bindSyscall("statx", statxSignature);
  const list = libc.find("getdents64", listSignature) ?? libc.bindSyscall("getdents64", listSignature);
  const openAt = libc.bind("openat", { args: ["i32", "ptr", "i32"], returns: "i32" });
  const close = libc.bind("close", { args: ["i32"], returns: "i32" });

  const root = openAt(-1, cString(procRoot), O_RDONLY_CLOEXEC);
  if (root < 0) throw new Error(`Cannot open ${procRoot}: openat(2) failed with errno ${libc.errno()}`);

  const path = new Uint8Array(PATH_SIZE);
  const here = cString("");
  const entries = new Uint8Array(ENTRIES_SIZE);
  const entriesView = new DataView(entries.buffer);
  const facts = new Uint8Array(STATX_AT.size);
  const view = new DataView(facts.buffer);
  const file: OpenFile = {
    kind: "other",
    nodeMajor: 0,
    nodeMinor: 0,
    deviceMajor: 0,
    deviceMinor: 0,
    inode: 0,
  };

  /** Fills `file` from the descriptor whose number stands in `path`. */
  function readFile(directory: number): boolean {
    const flags = AT.STATX_DONT_SYNC | AT.NO_AUTOMOUNT;
    if (statx(directory, path, flags, STATX.TYPE | STATX.INO, facts) !== 0) return false;
    file.kind = KINDS[view.getUint16(STATX_AT.mode, true) & S_IFMT] ?? "other";
    file.nodeMajor = view.getUint32(STATX_AT.rdevMajor, true);
    file.nodeMinor = view.getUint32(STATX_AT.rdevMajor + 4, true);
    file.deviceMajor = view.getUint32(STATX_AT.devMajor, true);
    file.deviceMinor = view.getUint32(STATX_AT.devMajor + 4, true);
    const upper = view.getUint32(STATX_AT.ino + 4, true);
    file.inode = upper < 0x20_0000
      ? upper * 0x1_0000_0000 + view.getUint32(STATX_AT.ino, true)
      : view.getBigUint64(STATX_AT.ino, true);
    return true;
  }

  /** How many descriptors the table has: its directory's size since Linux 6.2, 0 before. */
  function countDescriptors(directory: number): number {
    return statx(directory, here, AT.EMPTY_PATH, STATX.SIZE, facts) === 0
      ? view.getUint32(STATX_AT.length, true)
      : 0;
  }

  function readTable<T>(
    directory: number,
    recognise: (file: OpenFile) => T | undefined,
  ): DescriptorTable<T> {
    const found: { descriptor: number; what: T }[] = [];
    const note = (descriptor: number) => {
      if (!readFile(directory)) return false;
      const what = recognise(file);
      if (what !== undefined) found.push({ descriptor, what });
      return true;
    };
    // Most tables have no gap. Asking for 0, 1, 2 and so on spares the kernel the listing, a quarter of the time.
    const count = countDescriptors(directory);
    let next = 0;
    for (let isThere = true; isThere && next < count;) {
      writeNumber(path, next);
      isThere = note(next);
      if (isThere) next++;
    }
    // A count that was found in full and has not changed leaves none out.
    if (count > 0 && next === count && countDescriptors(directory) === count) return { found, count };
    let listed = 0;
    let refused: number | undefined;
    for (let filled = list(directory, entries, ENTRIES_SIZE); filled > 0;) {
      for (let at = 0; at < filled; at += entriesView.getUint16(at + DIRENT_AT.recordLength, true)) {
        if (entries[at + DIRENT_AT.name] === DOT) continue;
        listed++;
        const descriptor = copyNumber(entries, at + DIRENT_AT.name, path);
        if (descriptor >= next && !note(descriptor)) refused ??= descriptor;
      }
      filled = list(directory, entries, ENTRIES_SIZE);
    }
    return { found, count: listed, ...refused !== undefined && { refused } };
  }

  return {
    read(table, recognise) {
      writePath(path, table);
      const directory = openAt(root, path, O_RDONLY_CLOEXEC);
      if (directory < 0) return undefined;
      try {
        return readTable(directory, recognise);
      } finally {
        close(directory);
      }
    },
    findKind(descriptor) {
      writePath(path, descriptor);
      return readFile(root) ? file.kind : undefined;
    },
    countThreads(directory) {
      writePath(path, directory);
      if (statx(root, path, AT.STATX_DONT_SYNC, STATX.NLINK, facts) !== 0) return 0;
      return Math.max(0, view.getUint32(STATX_AT.links, true) - OWN_LINKS);
    },
    [Symbol.dispose]: () => void close(root),
  };
}

function writePath(to: Uint8Array, path: string): void {
  for (let place = 0; place < path.length; place++) to[place] = path.charCodeAt(place);
  to[path.length] = 0;
}

/** Writes a number in decimal, with a NUL behind it, to the start of `to`. */
function writeNumber(to: Uint8Array, number: number): void {
  let end = 1;
  for (let rest = number; rest >= 10; rest = Math.floor(rest / 10)) end++;
  to[end] = 0;
  for (let place = end - 1, rest = number; place >= 0; place--, rest = Math.floor(rest / 10)) {
    to[place] = ZERO + rest % 10;
  }
}

/** Copies a directory entry's name, a number, to the start of `to`, and gives that number. */
function copyNumber(from: Uint8Array, at: number, to: Uint8Array): number {
  let number = 0;
  let place = 0;
  for (let digit = from[at] ?? 0; digit !== 0; digit = from[at + place] ?? 0) {
    number = number * 10 + digit - ZERO;
    to[place++] = digit;
  }
  to[place] = 0;
  return number;
}
