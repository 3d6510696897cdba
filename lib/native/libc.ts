/**
 * The C library: what `node:` modules cannot do. Everything here is opened once and called synchronously; the files
 * beside this one give each group of calls its types.
 */
import { messageOf } from "../core/errors.ts";
import { type NativeLibrary, openLibrary, type Signature, type TypedFunction } from "./dlopen.ts";

/**
 * Where the C library lies. Always an absolute path: given a bare name, Bun also tries the current directory. glibc comes
 * first, as a machine with glibc may have musl beside it. A file for another processor does not open.
 */
const LIBC_PATHS = [
  "/lib/x86_64-linux-gnu/libc.so.6", // Debian, Ubuntu
  "/lib/aarch64-linux-gnu/libc.so.6",
  "/lib64/libc.so.6", // Fedora, RHEL, SUSE, NixOS with nix-ld
  "/usr/lib/libc.so.6", // Arch
  "/lib/ld-musl-x86_64.so.1", // Alpine: the loader is the library
  "/lib/ld-musl-aarch64.so.1",
];

/** Numbers of system calls by the machine's name in uname(2): asm/unistd_64.h and asm-generic/unistd.h. */
const SYSCALL_NUMBERS = {
  x86_64: {
    exit: 60,
    getdents64: 217,
    kcmp: 312,
    statx: 332,
    pidfd_send_signal: 424,
    pidfd_open: 434,
    pidfd_getfd: 438,
  },
  aarch64: {
    exit: 93,
    getdents64: 61,
    kcmp: 272,
    statx: 291,
    pidfd_send_signal: 424,
    pidfd_open: 434,
    pidfd_getfd: 438,
  },
} as const;
type SyscallName = keyof typeof SYSCALL_NUMBERS.x86_64;

/** Error numbers of asm-generic/errno-base.h, the same on both processors. */
export const ERRNO = { EPERM: 1, ENOENT: 2, ESRCH: 3, EBADF: 9, EACCES: 13, ENOSYS: 38 } as const;

export interface Libc extends Disposable {
  readonly path: string;
  /** Looks a function up; `undefined` where this C library lacks it. */
  find<const S extends Signature>(name: string, signature: S): TypedFunction<S> | undefined;
  /** Looks a function up that every C library has. @throws {Error} if this one lacks it all the same. */
  bind<const S extends Signature>(name: string, signature: S): TypedFunction<S>;
  /** A system call by its number, for those that an older C library has no function for. Fails with -1, as functions do. */
  bindSyscall<const S extends Signature>(name: SyscallName, signature: S): TypedFunction<S>;
  /**
   * The error number of the last call, to be read before anything else is called. The runtime may make calls of its own in
   * between, so this is for the words of a message alone: what decides an act is asked of the kernel by another call.
   */
  errno(): number;
}

/** Opens the C library. @throws {Error} if it lies in none of the known places. */
export async function openLibc(): Promise<Libc> {
  const refusals: string[] = [];
  for (const path of LIBC_PATHS) {
    try {
      return describeLibc(await openLibrary(path, "getpid", { args: [], returns: "i32" }));
    } catch (error) {
      refusals.push(messageOf(error)); // Not there, or for another processor: the next one may be right.
    }
  }
  throw new Error(`Cannot open the C library: ${refusals.join("; ")}`);
}

/** A text as C takes it, with a NUL at its end. */
export function cString(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}

function describeLibc(library: NativeLibrary): Libc {
  const bind = <const S extends Signature>(name: string, signature: S): TypedFunction<S> => {
    const found = library.find(name, signature);
    if (found === undefined) throw new Error(`Cannot call ${name}: ${library.path} does not export it`);
    return found;
  };
  let machine: keyof typeof SYSCALL_NUMBERS | undefined;
  let readErrno: (() => number) | undefined;
  return {
    path: library.path,
    find: (name, signature) => library.find(name, signature),
    bind,
    bindSyscall(name, signature) {
      machine ??= readMachine(bind);
      const number = SYSCALL_NUMBERS[machine][name];
      const call = library.find("syscall", { ...signature, args: ["u64", ...signature.args] });
      if (call === undefined) throw new Error(`Cannot call ${name}: ${library.path} has no syscall(2)`);
      return (...args) => call(number, ...args);
    },
    errno: () => (readErrno ??= bindErrno(bind))(),
    [Symbol.dispose]: () => library[Symbol.dispose](),
  };
}

/** `struct utsname` of glibc and musl on Linux: six fields of 65 bytes, of which `machine` is the fifth. */
const UTSNAME = { size: 6 * 65, machine: 4 * 65 } as const;

function readMachine(bind: Libc["bind"]): keyof typeof SYSCALL_NUMBERS {
  const names = new Uint8Array(UTSNAME.size);
  bind("uname", { args: ["ptr"], returns: "i32" })(names);
  const field = names.subarray(UTSNAME.machine, names.indexOf(0, UTSNAME.machine));
  const machine = new TextDecoder().decode(field);
  if (machine === "x86_64" || machine === "aarch64") return machine;
  throw new Error(`Cannot make system calls on "${machine}": their numbers are known for x86_64 and aarch64`);
}

function bindErrno(bind: Libc["bind"]): () => number {
  const locate = bind("__errno_location", { args: [], returns: "u64" });
  const copy = bind("memcpy", { args: ["ptr", "u64", "u64"], returns: "u64" });
  const number = new Int32Array(1);
  const bytes = new Uint8Array(number.buffer);
  return () => {
    copy(bytes, locate(), bytes.length);
    return number[0] ?? 0;
  };
}
