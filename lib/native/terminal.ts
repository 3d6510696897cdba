/** Questions about a terminal, without the runtime's stream objects: those cost 16 ms at their first touch. */
import type { Libc } from "./libc.ts";

/** asm-generic/ioctls.h, as x86-64 and aarch64 have it. */
const TIOCGWINSZ = 0x5413;

export interface TerminalCalls {
  isTerminal(descriptor: number): boolean;
  /** The size of the terminal; a part is `undefined` if the descriptor is none, or if it does not know it. */
  findSize(descriptor: number): { readonly columns: number | undefined; readonly rows: number | undefined };
}

/** Looks up what ioctl_tty(2) and isatty(3) need. */
export function bindTerminal(libc: Libc): TerminalCalls {
  const isatty = libc.bind("isatty", { args: ["i32"], returns: "i32" });
  const ioctl = libc.bind("ioctl", { args: ["i32", "u64", "ptr"], returns: "i32" });
  return {
    isTerminal: (descriptor) => isatty(descriptor) === 1,
    findSize(descriptor) {
      // struct winsize: rows, columns, and their sizes in pixels.
      const size = new Uint16Array(4);
      const isRead = ioctl(descriptor, TIOCGWINSZ, new Uint8Array(size.buffer)) === 0;
      const [rows, columns] = isRead ? size : [];
      return { columns: columns || undefined, rows: rows || undefined };
    },
  };
}
