import process from "node:process";
import { openLibc } from "../../native/libc.ts";
import { bindOwnProcess } from "../../native/own_process.ts";

/** What ps(1) shows of a helper. */
export const HELPER_COMM = "gpuctl-helper";

const SIGKILL = 9;

/**
 * Makes this process end with the one that started it, whatever it is doing then, and gives it its name.
 *
 * @returns whether that process is still there
 */
export async function bindToParent(parentPid: number): Promise<boolean> {
  const self = bindOwnProcess(await openLibc());
  self.nameThread(HELPER_COMM);
  // Sent when the thread that started us ends (prctl(2)): the parent's main one, on which its JavaScript runs.
  self.endWithParent(SIGKILL);
  // A parent that ended before the signal was asked for sends none.
  return process.ppid === parentPid;
}
