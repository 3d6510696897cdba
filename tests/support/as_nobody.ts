import process from "node:process";
import type { Libc } from "../../lib/native/libc.ts";

/** Who owns nothing. */
export const NOBODY = 65_534;

/** Whether tests can become somebody else for a while. */
export const isRoot = process.getuid?.() === 0;
/** For tests that must: says why they did not run. */
export const NEEDS_ROOT = isRoot ? {} : { skip: "only root can become another user" };

/** Runs something with the rights of a user who owns nothing and is in no group but their own. */
export async function asNobody<T>(libc: Libc, action: () => T | Promise<T>): Promise<T> {
  const ids = { args: ["u32", "u32", "u32"], returns: "i32" } as const;
  const [setresuid, setresgid] = [libc.bind("setresuid", ids), libc.bind("setresgid", ids)];
  const setgroups = libc.bind("setgroups", { args: ["u64", "ptr"], returns: "i32" });
  const groups = new Uint8Array(new Uint32Array(process.getgroups?.() ?? []).buffer);
  const must = (result: number) => {
    if (result !== 0) throw new Error(`Cannot become another user: errno ${libc.errno()}`);
  };
  must(setgroups(0, null));
  must(setresgid(NOBODY, NOBODY, 0));
  // The saved ids are what leads back.
  must(setresuid(NOBODY, NOBODY, 0));
  try {
    return await action();
  } finally {
    must(setresuid(0, 0, 0));
    must(setresgid(0, 0, 0));
    must(setgroups(groups.length / 4, groups));
  }
}
