/** Reads /proc/PID/fd without a string for each descriptor: about as fast as C, and never blocked by a dead file system. */
import { cString, type Libc } from "./libc.ts";
import { bindOpenFile, type OpenFile } from "./open_file.ts";

/** fcntl.h; O_RDONLY is 0. */
const O_CLOEXEC = 0o2000000;
const SEEK_SET = 0;
/** `struct linux_dirent64` of getdents64(2): u16 record length; the name ends in NUL. */
const DIRENT = { recordLength: 16, name: 19 } as const;
const ENTRIES_SIZE = 32_768;
/** In /proc/PID/fd, descriptor N is at place N + 2: "." and ".." come first (proc_readfd_common of fs/proc/fd.c). */
const DOTS = 2;
const ZERO = 48;
const DOT = 46;
/** How many descriptors' names are kept: a table's first ones are those of every other. */
const KEPT_NAMES = 1024;

/** One process's descriptors, as far as they were recognised. */
export interface DescriptorTable<T> {
  readonly found: readonly { readonly descriptor: number; readonly what: T }[];
  /** How many there are. */
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
  /** How many threads a process has, by the directories in its `812/task`; 0 once it has none. */
  countThreads(directory: string): number;
}

/** Opens a reader for the processes below `procRoot`. @throws {Error} if there is no such directory. */
export function openDescriptorReader(libc: Libc, procRoot: string): DescriptorReader {
  const { findFile, sizeOf, countDirectories } = bindOpenFile(libc);
  const listNumbers = bindListNumbers(libc);
  const openAt = libc.bind("openat", { args: ["i32", "ptr", "i32"], returns: "i32" });
  const close = libc.bind("close", { args: ["i32"], returns: "i32" });
  const root = openAt(-1, cString(procRoot), O_CLOEXEC);
  if (root < 0) throw new Error(`Cannot open ${procRoot}: openat(2) failed with errno ${libc.errno()}`);
  const names: Uint8Array[] = [];
  const nameOf = (descriptor: number) =>
    descriptor < KEPT_NAMES ? names[descriptor] ??= cString(String(descriptor)) : cString(String(descriptor));

  function readTable<T>(
    directory: number,
    recognise: (file: OpenFile) => T | undefined,
  ): DescriptorTable<T> {
    let found: { descriptor: number; what: T }[] = [];
    let refused: number | undefined;
    const ask = (descriptor: number) => {
      const file = findFile(directory, nameOf(descriptor));
      if (file === undefined) return false;
      const what = recognise(file);
      if (what !== undefined) found.push({ descriptor, what });
      return true;
    };
    const askListed = (descriptor: number) => {
      if (!ask(descriptor)) refused ??= descriptor;
    };
    // Most tables have no gap. Asking for 0, 1, 2 and so on spares the kernel the listing, a quarter of the time. How many
    // there are is the directory's size since Linux 6.2, and 0 before.
    const size = sizeOf(directory);
    let count = 0;
    while (count < size && ask(count)) count++;
    if (count < size || size === 0) count += listNumbers(directory, count, askListed);
    if (sizeOf(directory) !== count && size !== 0) {
      // The table has changed meanwhile, or numbers are not where they should be.
      found = [];
      count = listNumbers(directory, 0, askListed);
    }
    return { found, count, ...refused !== undefined && { refused } };
  }

  return {
    read(table, recognise) {
      const directory = openAt(root, cString(table), O_CLOEXEC);
      if (directory < 0) return undefined;
      try {
        return readTable(directory, recognise);
      } finally {
        close(directory);
      }
    },
    findKind: (descriptor) => findFile(root, cString(descriptor))?.kind,
    countThreads: (directory) => countDirectories(root, cString(directory)),
    [Symbol.dispose]: () => void close(root),
  };
}

/** Lists the numbers from `first` on in a directory that has nothing else, and gives how many there are. */
type ListNumbers = (directory: number, first: number, visit: (number: number) => void) => number;

function bindListNumbers(libc: Libc): ListNumbers {
  const signature = { args: ["i32", "ptr", "u32"], returns: "i32" } as const;
  const list = libc.find("getdents64", signature) ?? libc.bindSyscall("getdents64", signature);
  const seek = libc.bind("lseek", { args: ["i32", "u64", "i32"], returns: "i32" });
  const entries = new Uint8Array(ENTRIES_SIZE);
  const view = new DataView(entries.buffer);
  return (directory, first, visit) => {
    let count = 0;
    seek(directory, first === 0 ? 0 : first + DOTS, SEEK_SET);
    for (let end = list(directory, entries, ENTRIES_SIZE); end > 0;) {
      for (let at = 0; at < end; at += view.getUint16(at + DIRENT.recordLength, true)) {
        if (entries[at + DIRENT.name] === DOT) continue;
        count++;
        visit(parseNumber(entries, at + DIRENT.name));
      }
      end = list(directory, entries, ENTRIES_SIZE);
    }
    return count;
  };
}

/** Reads a directory entry's name, a number. */
function parseNumber(bytes: Uint8Array, start: number): number {
  let number = 0;
  for (let at = start, digit = bytes[at] ?? 0; digit !== 0; digit = bytes[++at] ?? 0) {
    number = number * 10 + digit - ZERO;
  }
  return number;
}
