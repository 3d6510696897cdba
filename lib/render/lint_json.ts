/** Findings about Python sources as JSON, `gpuctl.lint/1`. */
import type { Finding, judgeFindings, Place, Related } from "../analysis/lint/finding.ts";
import type { FindingJson, LintJson, RelatedJson } from "../model/schema/lint.ts";
import { renderJson } from "./json.ts";

type LintEnding = ReturnType<typeof judgeFindings>;

/** What each ending of a check is called in a document. */
const VERDICTS = { finding: "found", unavailable: "undecided", ok: "fine" } as const satisfies Record<
  LintEnding,
  LintJson["verdict"]
>;

/** Everything that was found in some files, and what it comes to. */
export function renderLintJson(
  findings: readonly Finding[],
  checked: { readonly files: readonly string[]; readonly ending: LintEnding },
): string {
  return renderJson(encodeLint(findings, checked));
}

/** The same as a plain object for JSON. */
export function encodeLint(
  findings: readonly Finding[],
  { files, ending }: { readonly files: readonly string[]; readonly ending: LintEnding },
): LintJson {
  return {
    schema: "gpuctl.lint/1",
    verdict: VERDICTS[ending],
    files: [...files],
    findings: findings.map(encodeFinding),
  };
}

function encodeFinding(
  { rule, severity, isDecided, place, message, fix, related, correctedOrder }: Finding,
): FindingJson {
  return {
    rule,
    severity,
    decided: isDecided,
    ...encodePlace(place),
    message,
    fix,
    related: related.map(encodeRelated),
    correctedOrder: [...correctedOrder],
  };
}

function encodeRelated({ place, text }: Related): RelatedJson {
  return { ...encodePlace(place), text };
}

function encodePlace({ path, cell, line, column }: Place): Omit<RelatedJson, "text"> {
  return { path, cell: cell ?? null, line, column };
}
