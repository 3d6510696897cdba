/** What /proc says of the few processes of a scene. */
import { readFileSync } from "node:fs";
import { errnoOf } from "../../core/errors.ts";

/** The parts of /proc/PID/stat that a scene waits for. */
export interface SceneProcess {
  readonly state: string;
  readonly parentPid: number;
  readonly threads: number;
}

/** Reads a process; `undefined` once it has gone. Fields as in proc_pid_stat(5), counted from behind the name. */
export function findSceneProcess(pid: number): SceneProcess | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ESRCH") return undefined;
    throw error;
  }
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", parentPid: Number(fields[1]), threads: Number(fields[17]) };
}

/** Says whether a process has let go of everything: it is gone, or waits to be reaped with no thread left. */
export function hasLetGo(pid: number): boolean {
  const found = findSceneProcess(pid);
  return found === undefined || found.state === "Z" && found.threads <= 1;
}
