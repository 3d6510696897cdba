/** Runs nvidia-smi as a child that can be given up at any moment. */
import { spawn } from "node:child_process";
import { noteOwnChild } from "../../proc/own_children.ts";
import { LATE, within } from "../helper/within.ts";
import type { SmiPlace } from "./locate.ts";

/** How a run ended. `stuck` means that not even SIGKILL ends it: it waits in the driver. */
export type SmiRun =
  | {
    readonly kind: "ended";
    readonly status: number | undefined;
    readonly signal: string | undefined;
    readonly text: string;
  }
  | { readonly kind: "not-started"; readonly error: unknown }
  | { readonly kind: "timed-out" }
  | { readonly kind: "too-long" }
  | { readonly kind: "stuck"; readonly pid: number };

/** A started child, as far as it is needed here. */
export interface SmiChild {
  readonly pid: number | undefined;
  /** Settles once the process is gone, or with the error that kept it from starting. Never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** Settles once both pipes are at their end. */
  readonly drained: Promise<void>;
  /** Settles once it has written more than any nvidia-smi does. */
  readonly overflowed: Promise<void>;
  /** What it has written so far: standard output, then standard error. Messages may be on either. */
  text(): string;
  kill(): void;
  /** Closes the pipes and stops waiting, so that this program may end before the child does. */
  release(): void;
}

export type ChildEnd =
  | { readonly kind: "exit"; readonly status: number | null; readonly signal: string | null }
  | { readonly kind: "error"; readonly error: unknown };

/** How nvidia-smi is started. Tests hand in their own. */
export type StartSmi = (place: SmiPlace, words: readonly string[]) => SmiChild;

/** Twice the output of the largest machines. */
const MOST_CHARACTERS = 16 * 1024 ** 2;
/** A killed process that is not stuck is gone in a few milliseconds. */
const DEATH_SPAN = 500;
/** Somebody else may hold the pipes open after nvidia-smi is gone. */
const DRAIN_SPAN = 200;

/** Runs nvidia-smi for at most `span` milliseconds and gives what it wrote, whatever its status. */
export async function runSmi(
  place: SmiPlace,
  words: readonly string[],
  { span, start = startSmi }: { readonly span: number; readonly start?: StartSmi },
): Promise<SmiRun> {
  const child = start(place, words);
  const first = await within(Promise.race([child.ended, child.overflowed]), span);
  if (first === LATE || first === undefined) {
    child.kill();
    const end = await within(child.ended, DEATH_SPAN);
    child.release();
    if (end === LATE && child.pid !== undefined) return { kind: "stuck", pid: child.pid };
    return { kind: first === LATE ? "timed-out" : "too-long" };
  }
  if (first.kind === "error") return { kind: "not-started", error: first.error };
  await within(child.drained, DRAIN_SPAN);
  child.release();
  return {
    kind: "ended",
    status: first.status ?? undefined,
    signal: first.signal ?? undefined,
    text: child.text(),
  };
}

/** Starts nvidia-smi in the C locale and UTC, with nothing of this program's environment. */
export function startSmi({ path, libraries }: SmiPlace, words: readonly string[]): SmiChild {
  const child = spawn(path, words, {
    cwd: "/",
    env: {
      LC_ALL: "C",
      TZ: "UTC",
      PATH: "/usr/bin:/bin",
      ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const pipes = [child.stdout, child.stderr];
  const texts = ["", ""];
  const overflowed = Promise.withResolvers<void>();
  const drained = pipes.map((pipe, place) =>
    new Promise<void>((settle) => {
      pipe.setEncoding("utf8");
      pipe.on("data", (part: string) => {
        texts[place] += part;
        if ((texts[place]?.length ?? 0) > MOST_CHARACTERS) overflowed.resolve();
      });
      pipe.on("close", () => settle());
      pipe.on("error", () => settle()); // A pipe that was given up, or broke with its process: the end tells.
    })
  );
  const ended = new Promise<ChildEnd>((settle) => {
    child.on("error", (error) => settle({ kind: "error", error }));
    child.on("exit", (status, signal) => settle({ kind: "exit", status, signal }));
  });
  if (child.pid !== undefined) noteOwnChild(child.pid, ended);
  return {
    pid: child.pid,
    ended,
    drained: Promise.all(drained).then(() => undefined),
    overflowed: overflowed.promise,
    text: () => texts.join("\n"),
    kill: () => void child.kill("SIGKILL"),
    release() {
      for (const pipe of pipes) pipe.destroy();
      child.unref();
    },
  };
}
