/** Findings about Python sources as JSON, `gpuctl.lint/1`. */
import type { Finding, judgeFindings } from "../analysis/lint/finding.ts";
import { renderJson } from "./json.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
const LINT_SCHEMA_NAME = "gpuctl.lint/1";

/** What each ending of a check is called in a document. */
const VERDICTS = { finding: "found", unavailable: "undecided", ok: "fine" } as const satisfies Record<
  ReturnType<typeof judgeFindings>,
  string
>;

/** Everything that was found in some files, and what it comes to. */
export function renderLintJson(
  findings: readonly Finding[],
  { files, ending }: {
    readonly files: readonly string[];
    readonly ending: ReturnType<typeof judgeFindings>;
  },
): string {
  return renderJson({
    schema: LINT_SCHEMA_NAME,
    verdict: VERDICTS[ending],
    files,
    findings: findings.map(({ rule, severity, isDecided, place, message, fix, related, correctedOrder }) => ({
      rule,
      severity,
      decided: isDecided,
      ...encodePlace(place),
      message,
      fix,
      related: related.map((each) => ({ ...encodePlace(each.place), text: each.text })),
      correctedOrder,
    })),
  });
}

function encodePlace({ path, cell, line, column }: Finding["place"]) {
  return { path, cell: cell ?? null, line, column };
}
