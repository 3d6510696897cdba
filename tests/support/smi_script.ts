import { chmodSync, existsSync, readFileSync } from "node:fs";
import { milliseconds } from "../../lib/core/units.ts";
import type { SmiOptions } from "../../lib/source/smi/live.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary.ts";

/** What the stand-in does for one line of arguments. */
export interface SmiAnswer {
  readonly out?: string;
  readonly err?: string;
  readonly status?: number;
  /** Shell commands before the answer. `$DIR` is the script's folder. */
  readonly before?: string;
}

/** A program in nvidia-smi's place that answers from a table and notes what it was asked. */
export interface SmiScript extends Disposable {
  readonly options: SmiOptions;
  readonly folder: TemporaryFolder;
  /** The arguments of each call so far. */
  calls(): readonly string[];
}

/** Makes such a program. The last key that the arguments begin with counts; other arguments end with status 2. */
export function smiScript(answers: Readonly<Record<string, SmiAnswer>>): SmiScript {
  const folder = temporaryFolder();
  const cases = Object.entries(answers).map(
    ([words, { out = "", err = "", status = 0, before = "" }], place) => {
      folder.write(`${place}.out`, out);
      folder.write(`${place}.err`, err);
      return `"${words}"*) ${
        before === "" ? ":" : before
      }; cat "$DIR/${place}.out"; cat "$DIR/${place}.err" >&2; exit ${status};;`;
    },
  );
  const path = folder.write(
    "nvidia-smi",
    `#!/bin/sh\nDIR='${folder.path}'\necho "$*" >> "$DIR/calls"\ncase "$*" in\n${
      cases.reverse().join("\n")
    }\nesac\nexit 2\n`,
  );
  chmodSync(path, 0o755);
  return {
    folder,
    options: {
      place: { path },
      clock: { now: () => "2026-11-30T08:00:00.000Z", monotonic: () => milliseconds(performance.now()) },
      processes: { findProcess: () => undefined },
      records: { directory: `${folder.path}/records`, uid: process.getuid?.() ?? 0 },
    },
    calls: () =>
      existsSync(`${folder.path}/calls`)
        ? readFileSync(`${folder.path}/calls`, "utf8").trimEnd().split("\n")
        : [],
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
