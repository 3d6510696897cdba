import { ERRNO, type Libc } from "./libc.ts";

/** linux/kcmp.h: compares open file descriptions, which dup(2), fork(2) and SCM_RIGHTS share. */
const KCMP_FILE = 0;
/** The answers of kcmp(2) for two that exist: equal, less, greater, unordered. */
const ANSWERS = [0, 1, 2, 3];

/** A descriptor of another process. `task` is a thread of it whose descriptors can be read. */
export interface ForeignDescriptor {
  readonly task: number;
  readonly descriptor: number;
}

/** `denied` without the right to trace both, `unsupported` in a kernel without kcmp(2), `gone` when either has ended. */
export type SharingAnswer = "shared" | "apart" | "denied" | "unsupported" | "gone";

/** Says whether two descriptors are one open file. */
export type CompareDescriptors = (a: ForeignDescriptor, b: ForeignDescriptor) => SharingAnswer;

/** Looks kcmp(2) up. */
export function bindKcmp(libc: Libc): CompareDescriptors {
  const kcmp = libc.bindSyscall("kcmp", { args: ["i32", "i32", "i32", "u64", "u64"], returns: "i32" });
  return (a, b) => {
    const answer = kcmp(a.task, b.task, KCMP_FILE, a.descriptor, b.descriptor);
    if (ANSWERS.includes(answer)) return answer === 0 ? "shared" : "apart";
    const errno = libc.errno();
    if (errno === ERRNO.ESRCH || errno === ERRNO.EBADF) return "gone";
    return errno === ERRNO.EPERM ? "denied" : "unsupported";
  };
}
