import type { Finding } from "../../../../lib/analysis/lint/finding.ts";
import { lintPython } from "../../../../lib/analysis/lint/lint_python.ts";

/** Findings of one file, each as `line rule severity`, with `?` where it is not decided. */
export function lint(source: string, path = "train.py"): readonly string[] {
  return lintPython(new Map([[path, source]])).map(brief);
}

/** Findings of several files, each with its place in front. */
export function lintFiles(files: Readonly<Record<string, string>>): readonly string[] {
  return lintPython(new Map(Object.entries(files))).map((finding) =>
    `${finding.place.path}:${brief(finding)}`
  );
}

function brief({ place, rule, severity, isDecided }: Finding): string {
  const cell = place.cell === undefined ? "" : `cell ${place.cell}:`;
  return `${cell}${place.line} ${rule} ${severity}${isDecided ? "" : "?"}`;
}
