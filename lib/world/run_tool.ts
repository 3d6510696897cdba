/** Runs a program of the system that must not be ended half-way. */
import { spawn } from "node:child_process";
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { ToolRun } from "../model/tool_run.ts";
import { noteOwnChild } from "../proc/own_children.ts";
import { findStat } from "../proc/stat.ts";
import { realClock } from "./clock.ts";
import { LATE, within } from "../source/helper/within.ts";

/** More than any of these programs has to say. */
const MOST_BYTES = 1024 ** 2;

type ToolEnd =
  | { readonly kind: "exit"; readonly status: number | null; readonly signal: string | null }
  | { readonly kind: "error"; readonly error: Error };

/**
 * Runs a program for at most `span` milliseconds, and leaves it alone when they are over. It has a session of its own, so
 * that no key on our terminal reaches it, and writes into a file: a pipe would end it when we do.
 */
export async function runTool(
  [program, ...words]: readonly [program: string, ...words: readonly string[]],
  { span, environment = {} }: {
    readonly span: Milliseconds;
    readonly environment?: Readonly<Record<string, string>>;
  },
): Promise<ToolRun> {
  let output: number | undefined;
  try {
    output = openNameless();
    const child = spawn(program, words, {
      cwd: "/",
      detached: true,
      env: { LC_ALL: "C", TZ: "UTC", PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...environment },
      stdio: ["ignore", output, output],
    });
    const ended = new Promise<ToolEnd>((settle) => {
      child.on("error", (error) => settle({ kind: "error", error }));
      child.on("exit", (status, signal) => settle({ kind: "exit", status, signal }));
    });
    const { pid } = child;
    if (pid !== undefined) noteOwnChild(pid, ended);
    const end = await within(ended, span);
    if (end === LATE) {
      // We may end before it does.
      child.unref();
      return pid === undefined ? { kind: "timed-out" } : await describeLate(pid);
    }
    if (end.kind === "error") return { kind: "not-started", message: messageOf(end.error) };
    if (fstatSync(output).size > MOST_BYTES) return { kind: "too-long" };
    const { status, signal } = end;
    return { kind: "ended", status: status ?? undefined, signal: signal ?? undefined, text: readAll(output) };
  } catch (error) {
    return { kind: "not-started", message: messageOf(error) };
  } finally {
    if (output !== undefined) closeSync(output);
  }
}

/** Whoever writes to a disk is in state D for a moment; who is stuck in the driver stays in it. */
const STUCK_LOOKS = 5;
const STUCK_PAUSE = milliseconds(100);

async function describeLate(pid: number): Promise<ToolRun> {
  for (let look = 0; look < STUCK_LOOKS; look++) {
    if (findStat(`/proc/${pid}`)?.state !== "D") return { kind: "timed-out", pid };
    await realClock.pause(STUCK_PAUSE);
  }
  return { kind: "stuck", pid };
}

/**
 * Where a file can be made: what was changed has to be put back on a machine with a full disk as well. TMPDIR does not
 * count: in a folder of somebody else's, what root makes there can be made to appear elsewhere.
 */
const PLACES = ["/tmp", "/dev/shm", "/run"];

/** A file that nobody else can open, and that is gone with its last descriptor. @throws the last place's error */
function openNameless(): number {
  for (const [rank, place] of PLACES.entries()) {
    try {
      return openNamelessIn(place);
    } catch (error) {
      if (rank === PLACES.length - 1) throw error;
    }
  }
  throw new Error("there is no place for a file");
}

function openNamelessIn(place: string): number {
  const folder = mkdtempSync(join(place, "gpuctl-"));
  try {
    return openSync(join(folder, "output"), "wx+", 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readAll(descriptor: number): string {
  const whole = new Uint8Array(fstatSync(descriptor).size);
  const length = readSync(descriptor, whole, 0, whole.length, 0);
  return new TextDecoder().decode(whole.subarray(0, length));
}
