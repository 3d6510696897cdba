/**
 * Starts a program as its own shell would: posix_spawnp(3) rather than the runtime, which closes inherited descriptors,
 * has no name for real-time signals, and waits for the child itself.
 */
import type { Libc } from "./libc.ts";

/** spawn.h */
const POSIX_SPAWN_SETSIGDEF = 0x04;
/** glibc's posix_spawnattr_t has 336 bytes on x86-64 and aarch64, musl's as many; sigset_t has 128. */
const SIZE = { attributes: 512, signalSet: 128, siginfo: 128, pointer: 8 } as const;
/** asm/signal.h. The runtimes ignore these, and a program that inherits that does not stop when its reader is gone. */
const IGNORED_BY_RUNTIMES = [13, /* SIGPIPE */ 25 /* SIGXFSZ */];
/** linux/wait.h */
const WAIT = { ALL: 0, NOHANG: 1, EXITED: 4, NOWAIT: 0x0100_0000 } as const;
/** siginfo_t of a child on LP64 (asm-generic/siginfo.h): after si_signo, si_errno, si_code and padding. */
const SI_PID = 16;
const F_SETFD = 2;

export type SpawnResult = { readonly pid: number } | { readonly errno: number };

export interface SpawnCalls {
  /**
   * Starts a program, looked for on this process's PATH unless its name has a slash. It keeps our descriptors, limits,
   * process group and ignored signals. Gives the error number of execve(2) if it cannot be run.
   */
  spawn(program: Uint8Array, words: readonly Uint8Array[], environment: readonly Uint8Array[]): SpawnResult;
  /** A child that has ended and waits to be reaped, whoever started it. It is left as it is. */
  findEndedChild(): number | undefined;
  /** Lets a descriptor stay open in programs that are started from now on. */
  passOn(descriptor: number): void;
}

/** Looks these calls up. */
export function bindSpawn(libc: Libc): SpawnCalls {
  const spawnp = libc.bind("posix_spawnp", {
    args: ["ptr", "ptr", "ptr", "ptr", "ptr", "ptr"],
    returns: "i32",
  });
  const waitid = libc.bind("waitid", { args: ["i32", "u32", "ptr", "i32"], returns: "i32" });
  const fcntl = libc.bind("fcntl", { args: ["i32", "i32", "i32"], returns: "i32" });
  const attributes = makeAttributes(libc);
  const addressOf = bindAddressOf(libc);
  return {
    spawn(program, words, environment) {
      const pid = new Int32Array(1);
      const errno = spawnp(
        new Uint8Array(pid.buffer),
        terminated(program),
        null,
        attributes,
        makeVector(words, addressOf),
        makeVector(environment, addressOf),
      );
      return errno === 0 ? { pid: pid[0] ?? 0 } : { errno };
    },
    findEndedChild() {
      const info = new DataView(new ArrayBuffer(SIZE.siginfo));
      const flags = WAIT.EXITED | WAIT.NOHANG | WAIT.NOWAIT;
      if (waitid(WAIT.ALL, 0, new Uint8Array(info.buffer), flags) !== 0) return undefined;
      return info.getInt32(SI_PID, true) || undefined;
    },
    passOn: (descriptor) => void fcntl(descriptor, F_SETFD, 0),
  };
}

function makeAttributes(libc: Libc): Uint8Array {
  const signals = new Uint8Array(SIZE.signalSet);
  for (const signal of IGNORED_BY_RUNTIMES) {
    const byte = (signal - 1) >> 3;
    signals[byte] = (signals[byte] ?? 0) | 1 << ((signal - 1) & 7);
  }
  const attributes = new Uint8Array(SIZE.attributes);
  libc.bind("posix_spawnattr_init", { args: ["ptr"], returns: "i32" })(attributes);
  libc.bind("posix_spawnattr_setsigdefault", { args: ["ptr", "ptr"], returns: "i32" })(attributes, signals);
  libc.bind("posix_spawnattr_setflags", { args: ["ptr", "i32"], returns: "i32" })(
    attributes,
    POSIX_SPAWN_SETSIGDEF,
  );
  return attributes;
}

/** The address of a buffer, which holds as long as the buffer does: memcpy(3) gives its first argument back. */
function bindAddressOf(libc: Libc): (buffer: Uint8Array) => bigint {
  const copy = libc.bind("memcpy", { args: ["ptr", "u64", "u64"], returns: "u64" });
  return (buffer) => BigInt(copy(buffer, 0, 0));
}

/** An array of C strings as argv and envp are: pointers with a null at the end, and the texts behind them in one piece. */
function makeVector(texts: readonly Uint8Array[], addressOf: (buffer: Uint8Array) => bigint): Uint8Array {
  const head = (texts.length + 1) * SIZE.pointer;
  const vector = new Uint8Array(texts.reduce((size, text) => size + text.length + 1, head));
  const pointers = new DataView(vector.buffer);
  const start = addressOf(vector);
  let place = head;
  for (const [index, text] of texts.entries()) {
    pointers.setBigUint64(index * SIZE.pointer, start + BigInt(place), true);
    vector.set(text, place);
    place += text.length + 1;
  }
  return vector;
}

function terminated(text: Uint8Array): Uint8Array {
  const copy = new Uint8Array(text.length + 1);
  copy.set(text);
  return copy;
}
