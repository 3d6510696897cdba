/** What judging a job and judging what runs have in common: their options, and how a verdict is written. */
import type { Finding } from "../lib/analysis/lint/finding.ts";
import type { GpuSelector } from "../lib/analysis/select_gpus.ts";
import type { Bytes, Milliseconds } from "../lib/core/units.ts";
import type { IsolationVerdict } from "../lib/model/isolation.ts";
import type { SourceChoice } from "../lib/model/source_choice.ts";
import type { Screen, World } from "../lib/world/ports.ts";

export interface IsolationOptions {
  readonly source: SourceChoice;
  /** The job's GPUs; empty for a job that must not touch any. */
  readonly gpu: readonly GpuSelector[];
  readonly threshold: Bytes;
  readonly lint?: readonly string[] | undefined;
  readonly output?: string | undefined;
  readonly json?: true | undefined;
  readonly deadline: Milliseconds;
}

/** What the program's sources show, where they were named. */
export async function readLint(
  { lint }: Pick<IsolationOptions, "lint">,
  world: Pick<World, "files">,
): Promise<readonly Finding[]> {
  if (lint === undefined) return [];
  const { lintFiles } = await import("./verify_isolation_lint.ts");
  return lintFiles(lint, world);
}

/** Writes a verdict as it was asked for, for a screen where there is one. */
export async function renderReport(
  { isolation, simulated }: { readonly isolation: IsolationVerdict; readonly simulated: boolean },
  { json }: Pick<IsolationOptions, "json">,
  screen: Screen | undefined,
): Promise<string> {
  if (!json) {
    const [{ renderIsolation }, { optionsFor }] = await Promise.all([
      import("../lib/render/isolation_text.ts"),
      import("../lib/render/screen.ts"),
    ]);
    return renderIsolation(isolation, { simulated, ...optionsFor(screen) });
  }
  const [{ encodeIsolation }, { renderJson }] = await Promise.all([
    import("../lib/model/isolation_json.ts"),
    import("../lib/render/json.ts"),
  ]);
  return renderJson(encodeIsolation(isolation, { simulated }));
}
