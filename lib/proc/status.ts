import { type Uid, uid } from "../core/ids.ts";
import { absent, known, mapReading, type Reading } from "../core/reading.ts";
import { readText } from "./files.ts";

/** What /proc/PID/status tells beyond /proc/PID/stat. */
export interface ProcStatus {
  /** The real user id: who started the program, whatever rights it has taken on since. */
  readonly uid: Uid;
  /** Whose rights it has now. */
  readonly effectiveUid: Uid;
  readonly ignoresHangup: boolean;
  /** Absent in a kernel without PID namespaces. */
  readonly namespacePids: Reading<readonly number[]>;
}

/** SIGHUP is signal 1, and the lowest bit of a mask. */
const HANGUP = 1n;

/**
 * Parses the text of /proc/PID/status. The kernel escapes newlines in the name, so that no process can write lines of its
 * own.
 *
 * @throws {SyntaxError} if a line that every kernel has is missing.
 */
export function parseProcStatus(text: string): ProcStatus {
  const [, real, effective] = /^Uid:\t(\d+)\t(\d+)\t/m.exec(text) ?? [];
  const [, ignored] = /^SigIgn:\t([0-9a-f]{1,32})$/m.exec(text) ?? [];
  const [, pids] = /^NSpid:\t([\d\t]+)$/m.exec(text) ?? [];
  if (!isUserId(real) || !isUserId(effective)) throw refusal("Uid", text);
  if (ignored === undefined) throw refusal("SigIgn", text);
  return {
    uid: uid(Number(real)),
    effectiveUid: uid(Number(effective)),
    ignoresHangup: (BigInt(`0x${ignored}`) & HANGUP) !== 0n,
    namespacePids: pids === undefined
      ? absent("not-supported", "this kernel has no PID namespaces")
      : known(pids.split("\t").filter((each) => each !== "").map(Number)),
  };
}

/** Reads /proc/PID/status. */
export function readProcStatus(directory: string): Reading<ProcStatus> {
  return mapReading(readText(`${directory}/status`), parseProcStatus);
}

function isUserId(digits: string | undefined): digits is string {
  return digits !== undefined && Number(digits) <= 0xffff_ffff;
}

function refusal(line: string, text: string): SyntaxError {
  return new SyntaxError(`Cannot parse "${text}": expected a line ${line} as in proc_pid_status(5)`);
}
