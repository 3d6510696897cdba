/** Whether programs of this user are led to an MPS control daemon, and whether it lives. */
import { join } from "node:path";
import { isPid, type Pid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { bytes } from "../core/units.ts";
import { messageOf } from "../core/errors.ts";
import type { MpsPipe } from "../model/doctor_facts.ts";
import { readRegularFile } from "../native/regular_file.ts";
import { isDenied, isGone } from "../proc/files.ts";
import { findStat } from "../proc/stat.ts";
import { pathExists } from "./path_exists.ts";

/** Where it is unless CUDA_MPS_PIPE_DIRECTORY says otherwise (MPS guide, "Environment variables"). */
const DEFAULT_DIRECTORY = "/tmp/nvidia-mps";
const PID_FILE = "nvidia-cuda-mps-control.pid";
/** TASK_COMM_LEN cuts `nvidia-cuda-mps-control` to this. */
const DAEMON_NAME = "nvidia-cuda-mps";
const PID_BYTES = bytes(64);

/**
 * Reads what the pipe directory shows.
 *
 * @param isInitial whether this PID namespace is the machine's first: in another one a pid may be somebody else's
 */
export async function readMpsPipe(
  directory: string | undefined,
  isInitial: Reading<boolean>,
): Promise<MpsPipe> {
  const place = directory ?? DEFAULT_DIRECTORY;
  if (!(await pathExists(join(place, "control")))) return { kind: "none", directory: place };
  const pid = await readDaemonPid(join(place, PID_FILE));
  return { kind: "daemon", daemon: { directory: place, pid, isAlive: judgeLife(pid, isInitial) } };
}

async function readDaemonPid(path: string): Promise<Reading<Pid>> {
  try {
    const pid = Number((await readRegularFile(path, PID_BYTES)).trim());
    return isPid(pid) ? known(pid) : absent("implausible", `${path} holds no pid`);
  } catch (error) {
    if (isGone(error)) return absent("not-reported", `there is no ${path}`);
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}

/** A pid of another namespace means nobody here, or somebody else. */
function judgeLife(pid: Reading<Pid>, isInitial: Reading<boolean>): Reading<boolean> {
  if (!pid.ok) return pid;
  const isDaemon = findStat(`/proc/${pid.value}`)?.comm === DAEMON_NAME;
  if (isDaemon) return known(true);
  if (!isInitial.ok) return isInitial;
  return isInitial.value ? known(false) : absent("hidden", "it may live outside of this PID namespace");
}
