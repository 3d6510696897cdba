/** Names of signals 1 to 31 on Linux, as x86-64 and aarch64 number them (asm-generic/signal.h). */
const NAMES = [
  ...["HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE"],
  ...["ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ"],
  ...["VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS"],
];
/** SIGRTMIN as glibc has it: it keeps 32 and 33 for itself. */
const FIRST_REAL_TIME = 34;

/** A signal's name: `SIGKILL`, `SIGRTMIN+1`. */
export function formatSignal(number: number): string {
  const name = NAMES[number - 1];
  if (name !== undefined) return `SIG${name}`;
  if (number < FIRST_REAL_TIME) return `signal ${number}`;
  return number === FIRST_REAL_TIME ? "SIGRTMIN" : `SIGRTMIN+${number - FIRST_REAL_TIME}`;
}
