/** PID namespaces: what a reader calls a process that numbers itself in another one. */
import { readdirSync } from "node:fs";
import { isPid, type Pid } from "../../core/ids.ts";
import { valueOf } from "../../core/reading.ts";
import { readPidNamespace } from "../../proc/namespaces.ts";
import { readProcStatus } from "../../proc/status.ts";

/** Finds a process of another PID namespace under its pid from here; nothing for one that is not visible from here. */
export type FindOuterPid = (inner: number, namespace: number) => Pid | undefined;

/** This process's PID namespace, the number in the kernel's `pid:[4026531836]`. */
export function ownPidNamespace(): number {
  return Number(namespaceOf("self"));
}

/** Reads /proc once, and only if anybody asks: all is in one namespace as a rule. */
export function findOuterPids(): FindOuterPid {
  let known: ReadonlyMap<string, Pid | undefined> | undefined;
  return (inner, namespace) => {
    known ??= readNestedPids();
    return known.get(`${namespace}:${inner}`) ?? known.get(`?:${inner}`);
  };
}

function readNestedPids(): Map<string, Pid | undefined> {
  const found = new Map<string, Pid | undefined>();
  for (const entry of readdirSync("/proc")) {
    const outer = Number(entry);
    const status = isPid(outer) ? readProcStatus(`/proc/${entry}`) : undefined;
    const pids = (status?.ok && valueOf(status.value.namespacePids)) || [];
    if (!isPid(outer) || pids.length < 2) continue;
    // Another user's namespace cannot be read; its inner pid can, which will do where only one process has it.
    const key = `${namespaceOf(entry) ?? "?"}:${pids.at(-1)}`;
    found.set(key, found.has(key) ? undefined : outer);
  }
  return found;
}

function namespaceOf(entry: string): string | undefined {
  return valueOf(readPidNamespace(`/proc/${entry}`))?.match(/\d+/)?.[0];
}
