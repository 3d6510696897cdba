import process from "node:process";
import type { Libc } from "../../lib/native/libc.ts";

const NOBODY = 65_534;

/** Whether tests can become somebody else for a while. */
export const isRoot = process.getuid?.() === 0;
/** For tests that must: says why they did not run. */
export const NEEDS_ROOT = isRoot ? {} : { skip: "only root can become another user" };

/** Runs something with the rights of a user who owns nothing. */
export async function asNobody<T>(libc: Libc, action: () => T | Promise<T>): Promise<T> {
  const setresuid = libc.bind("setresuid", { args: ["u32", "u32", "u32"], returns: "i32" });
  // The saved id is what leads back.
  if (setresuid(NOBODY, NOBODY, 0) !== 0) {
    throw new Error(`Cannot become user ${NOBODY}: errno ${libc.errno()}`);
  }
  try {
    return await action();
  } finally {
    setresuid(0, 0, 0);
  }
}
