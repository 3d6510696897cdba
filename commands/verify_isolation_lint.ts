/** The part of `gpuctl verify-isolation` that reads Python sources. Loaded when there are any. */
import { type Finding, judgeFindings } from "../lib/analysis/lint/finding.ts";
import { lintPython } from "../lib/analysis/lint/lint_python.ts";
import type { Ending } from "../lib/core/errors.ts";
import { cannotRead } from "../lib/core/file_errors.ts";
import { renderLint } from "../lib/render/lint.ts";
import type { World } from "../lib/world/ports.ts";

/**
 * What some sources show.
 *
 * @throws {GpuctlError} if one cannot be read
 */
export function lintFiles(paths: readonly string[], { files }: Pick<World, "files">): readonly Finding[] {
  return lintPython(new Map(paths.map((path) => [path, readSource(path, files)])));
}

/** Prints what some sources show, and gives its ending. */
export async function lintCommand(
  paths: readonly string[],
  { json, output }: { readonly json?: true | undefined; readonly output?: string | undefined },
  world: World,
): Promise<Ending> {
  const findings = lintFiles(paths, world);
  const ending = judgeFindings(findings);
  const files = [...new Set(paths)];
  const text = json
    ? (await import("../lib/render/lint_json.ts")).renderLintJson(findings, { files, ending })
    : renderLint(findings, { files: files.length });
  if (output === undefined) world.terminal.out(text);
  else world.files.writeWhole(output, text);
  return ending;
}

function readSource(path: string, files: World["files"]): string {
  try {
    return files.readText(path);
  } catch (error) {
    throw cannotRead(path, error);
  }
}
