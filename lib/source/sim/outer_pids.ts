/** What a reader calls a process that numbers itself in another PID namespace. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { errnoOf } from "../../core/errors.ts";
import { type Pid, pid } from "../../core/ids.ts";

/** Finds a process of another PID namespace under its pid from here; nothing for one that is not visible from here. */
export type FindOuterPid = (inner: number, namespace: number) => Pid | undefined;

/** Reads /proc once, and only if anybody asks: all is in one namespace as a rule. */
export function outerPids(): FindOuterPid {
  let known: ReadonlyMap<string, Pid | undefined> | undefined;
  return (inner, namespace) => {
    known ??= readNestedPids();
    return known.get(`${namespace}:${inner}`) ?? known.get(`?:${inner}`);
  };
}

function readNestedPids(): Map<string, Pid | undefined> {
  const found = new Map<string, Pid | undefined>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const pids = findText(() => readFileSync(`/proc/${entry}/status`, "utf8"))?.match(/^NSpid:\t(.+)$/m)?.[1]
      ?.split("\t");
    if (pids === undefined || pids.length < 2) continue;
    // Another user's namespace cannot be read; its inner pid can, which will do where only one process has it.
    const namespace = findText(() => readlinkSync(`/proc/${entry}/ns/pid`))?.match(/\d+/)?.[0] ?? "?";
    const key = `${namespace}:${pids.at(-1)}`;
    found.set(key, found.has(key) ? undefined : pid(Number(entry)));
  }
  return found;
}

function findText(read: () => string): string | undefined {
  try {
    return read();
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}
