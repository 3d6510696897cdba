/**
 * What an open file is, by statx(2): less than stat(2) asks for, so that no answer of a server is needed. With
 * AT_STATX_DONT_SYNC a file system that has stopped answering is not asked at all.
 */
import { cString, type Libc } from "./libc.ts";

/** fcntl.h and linux/stat.h, where both processors agree. */
const AT = { EMPTY_PATH: 0x1000, NO_AUTOMOUNT: 0x800, STATX_DONT_SYNC: 0x4000 } as const;
const STATX = { TYPE: 0x1, NLINK: 0x4, INO: 0x100, SIZE: 0x200 } as const;
/** `struct statx`: u32 links, u16 mode, u64 ino, u64 size, and the halves of both device numbers as u32. */
const OFFSET = { links: 16, mode: 28, inode: 32, size: 40, nodeMajor: 128, deviceMajor: 136 } as const;
const STATX_SIZE = 256;
const S_IFMT = 0o170000;
/** inode(7) */
const KINDS: Readonly<Record<number, OpenFile["kind"]>> = {
  0o010000: "pipe",
  0o020000: "character",
  0o100000: "regular",
};
/** Links of a directory without subdirectories. */
const OWN_LINKS = 2;

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

export interface OpenFileCalls {
  /** What a name leads to, links followed; `undefined` if the kernel does not say. */
  findFile(directory: number, name: Uint8Array): OpenFile | undefined;
  /** The size of an open directory; 0 if the kernel does not say. */
  sizeOf(directory: number): number;
  /** How many directories a directory has in it, by its links; 0 if the kernel does not say. */
  countDirectories(directory: number, name: Uint8Array): number;
}

/** Looks statx(2) up. */
export function bindOpenFile(libc: Libc): OpenFileCalls {
  const signature = { args: ["i32", "ptr", "i32", "u32", "ptr"], returns: "i32" } as const;
  const statx = libc.find("statx", signature) ?? libc.bindSyscall("statx", signature);
  const here = cString("");
  const facts = new Uint8Array(STATX_SIZE);
  const view = new DataView(facts.buffer);
  const file: OpenFile = {
    kind: "other",
    nodeMajor: 0,
    nodeMinor: 0,
    deviceMajor: 0,
    deviceMinor: 0,
    inode: 0,
  };
  const number = (at: number) => view.getUint32(at, true);
  return {
    findFile(directory, name) {
      const flags = AT.STATX_DONT_SYNC | AT.NO_AUTOMOUNT;
      if (statx(directory, name, flags, STATX.TYPE | STATX.INO, facts) !== 0) return undefined;
      const upper = number(OFFSET.inode + 4);
      file.kind = KINDS[view.getUint16(OFFSET.mode, true) & S_IFMT] ?? "other";
      file.nodeMajor = number(OFFSET.nodeMajor);
      file.nodeMinor = number(OFFSET.nodeMajor + 4);
      file.deviceMajor = number(OFFSET.deviceMajor);
      file.deviceMinor = number(OFFSET.deviceMajor + 4);
      file.inode = upper < 0x20_0000
        ? upper * 0x1_0000_0000 + number(OFFSET.inode)
        : view.getBigUint64(OFFSET.inode, true);
      return file;
    },
    sizeOf(directory) {
      return statx(directory, here, AT.EMPTY_PATH, STATX.SIZE, facts) === 0 ? number(OFFSET.size) : 0;
    },
    countDirectories(directory, name) {
      if (statx(directory, name, AT.STATX_DONT_SYNC, STATX.NLINK, facts) !== 0) return 0;
      return Math.max(0, number(OFFSET.links) - OWN_LINKS);
    },
  };
}
