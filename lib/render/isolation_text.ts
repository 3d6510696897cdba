/** A verdict on isolation for a person: the answer first, then each violation with its fix, then what else there is. */
import { nameIndexes } from "../core/ranges.ts";
import { plural, printable } from "../core/text.ts";
import { formatBytes } from "../core/units.ts";
import type {
  IsolatedGpu,
  IsolationVerdict,
  IsolationViolation,
  JudgedRule,
  RulePlace,
} from "../model/isolation.ts";
import { nameParty } from "../model/party.ts";
import { PLAIN } from "./colour.ts";
import { describeRun } from "./job_run.ts";
import { wrap } from "./layout.ts";
import { SIMULATED } from "./simulated.ts";
import type { TableOptions } from "./table.ts";

/** Writes a verdict as text. */
export function renderIsolation(
  isolation: IsolationVerdict,
  { simulated, width, paint = PLAIN }: Partial<TableOptions> & { readonly simulated: boolean },
): string {
  const { violations, suspicions, notes, problems } = isolation;
  const sentences = (label: string, texts: readonly string[]) =>
    texts.flatMap((text) => wrap(printable(text), { width, label }));
  return joinBlocks([
    [
      ...(simulated ? [SIMULATED] : []),
      ...wrap(describeVerdict(isolation), { width, label: "" }),
      ...(isolation.job ? wrap(describeRun(isolation.job), { width, label: "" }) : []),
    ],
    violations.flatMap((violation) => violationLines(violation, width)),
    titled(paint("RULES", "bold"), sentences("  ", (isolation.rules ?? []).map(describeRule))),
    titled(paint("SUSPICIOUS", "bold"), sentences("  ", suspicions.map(({ message }) => message))),
    titled(paint("NOT SEEN", "bold"), sentences("  ", problems.map(({ message }) => message))),
    titled(paint("NOTES", "bold"), sentences("  ", notes)),
  ]);
}

function describeVerdict(isolation: IsolationVerdict): string {
  const { verdict, gpus } = isolation;
  if (isolation.rules) return describeMachine(isolation, isolation.rules);
  switch (verdict) {
    case "isolated":
      return `ISOLATED: ${describeAllowance(gpus)}, and had no context elsewhere`;
    case "violated":
      return `VIOLATED: ${[describeAllowance(gpus), ...describeViolations(isolation)].join("; ")}`;
    case "unproven":
      return `NOT PROVEN: ${describeAllowance(gpus)}; whether it kept to that could not be seen`;
  }
}

function describeViolations({ violations, threshold }: IsolationVerdict): readonly string[] {
  const size = threshold === 0 ? "" : ` of more than ${formatBytes(threshold)}`;
  const [own, others] = [false, true].map((isIntruder) =>
    violations.filter(({ cause }) => (cause === "intruder") === isIntruder)
  );
  return [
    ...(own && own.length > 0
      ? [`${countProcesses(own)} of it had a context${size} out of place, on ${nameGpus(own)}`]
      : []),
    ...(others && others.length > 0
      ? [`${countProcesses(others)} of others had a context${size} on ${nameGpus(others)}`]
      : []),
  ];
}

function describeMachine({ verdict, violations }: IsolationVerdict, rules: readonly JudgedRule[]): string {
  const pids = new Set(rules.flatMap((rule) => rule.pids));
  switch (verdict) {
    case "isolated":
      return `ISOLATED: ${
        plural(pids.size, "process", "processes")
      } had a context, and all kept to the rules`;
    case "violated": {
      const broken = rules.filter((rule) => rule.verdict === "violated");
      return `VIOLATED: ${countProcesses(violations)} broke ${
        plural(broken.length, "rule")
      } of ${rules.length}` +
        `, on ${nameGpus(violations)}`;
    }
    case "unproven":
      return "NOT PROVEN: whether everybody kept to the rules could not be seen";
  }
}

function describeRule({ line, text, verdict, pids }: JudgedRule): string {
  const place = line === 0 ? "default" : `line ${line}`;
  return `${place}: ${text}: ${plural(pids.length, "process", "processes")}, ${
    verdict === "unproven" ? "not proven" : verdict
  }`;
}

function countProcesses(violations: readonly IsolationViolation[]): string {
  return plural(new Set(violations.map(({ pid }) => pid)).size, "process", "processes");
}

function nameGpus(violations: readonly IsolationViolation[]): string {
  return nameIndexes(violations.map(({ index }) => index));
}

function describeAllowance(gpus: readonly IsolatedGpu[]): string {
  const [whole, parts] = (["wholly", "partly"] as const).map((allowed) =>
    gpus.filter((gpu) => gpu.allowed === allowed).map(({ index }) => index)
  );
  const names = [
    ...(whole && whole.length > 0 ? [nameIndexes(whole)] : []),
    ...(parts && parts.length > 0 ? [`a part of ${nameIndexes(parts)}`] : []),
  ];
  return `the job was given ${names.length === 0 ? "no GPU" : names.join(" and ")}`;
}

/** One violation as one sentence. */
export function formatViolation(violation: IsolationViolation): string {
  const { index, pid, command, contextBytes, cause, party } = violation;
  const whose = party === undefined ? "" : ` of ${nameParty(party)}`;
  return `PID ${pid} (${printable(command)})${whose} had ${
    formatBytes(contextBytes)
  } on GPU ${index}: ${cause}`;
}

function violationLines(violation: IsolationViolation, width: number | undefined): readonly string[] {
  const { explanation, fix, rule } = violation;
  return [
    ...wrap(formatViolation(violation), { width, label: "" }),
    ...(rule ? wrap(printable(formatBroken(rule)), { width, label: "  rule: " }) : []),
    ...wrap(printable(explanation), { width, label: "  why: " }),
    ...wrap(printable(fix), { width, label: "  fix: " }),
  ];
}

/** The rule that was broken, and where it stands. */
export function formatBroken({ line, text }: RulePlace): string {
  return line === 0 ? text : `${text} (line ${line})`;
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function joinBlocks(blocks: readonly (readonly string[])[]): string {
  return blocks.filter(({ length }) => length > 0).map((lines) => lines.map((line) => `${line}\n`).join(""))
    .join("\n");
}
