/** A verdict on isolation for a person: the answer first, then each violation with its fix, then what else there is. */
import { plural, printable } from "../core/text.ts";
import { formatBytes } from "../core/units.ts";
import type { IsolatedGpu, IsolationVerdict, IsolationViolation } from "../model/isolation.ts";
import { PLAIN } from "./colour.ts";
import { wrap } from "./layout.ts";
import { formatRanges } from "./snapshot_columns.ts";
import type { TableOptions } from "./table.ts";

const SIMULATED = "SIMULATED SERVER: no real GPU is behind these numbers";

/** Writes a verdict as text. */
export function renderIsolation(
  isolation: IsolationVerdict,
  { simulated, width, paint = PLAIN }: Partial<TableOptions> & { readonly simulated: boolean },
): string {
  const { violations, suspicions, notes, problems } = isolation;
  const sentences = (label: string, texts: readonly string[]) =>
    texts.flatMap((text) => wrap(printable(text), { width, label }));
  return joinBlocks([
    [...(simulated ? [SIMULATED] : []), ...wrap(describeVerdict(isolation), { width, label: "" })],
    violations.flatMap((violation) => violationLines(violation, width)),
    titled(paint("SUSPICIOUS", "bold"), sentences("  ", suspicions.map(({ message }) => message))),
    titled(paint("NOT SEEN", "bold"), sentences("  ", problems.map(({ message }) => message))),
    titled(paint("NOTES", "bold"), sentences("  ", notes)),
  ]);
}

function describeVerdict({ verdict, gpus, violations, threshold }: IsolationVerdict): string {
  switch (verdict) {
    case "isolated":
      return `ISOLATED: ${describeAllowance(gpus)}, and had no context elsewhere`;
    case "violated": {
      const strays = new Set(violations.map(({ index }) => index));
      const pids = new Set(violations.map(({ pid }) => pid));
      const size = threshold === 0 ? "" : ` of more than ${formatBytes(threshold)}`;
      return `VIOLATED: ${describeAllowance(gpus)}; ${
        plural(pids.size, "process", "processes")
      } of it had a ` +
        `context${size} out of place, on GPU ${formatRanges([...strays]).join(",")}`;
    }
    case "unproven":
      return `NOT PROVEN: ${describeAllowance(gpus)}; whether it kept to that could not be seen`;
  }
}

function describeAllowance(gpus: readonly IsolatedGpu[]): string {
  const [whole, parts] = (["wholly", "partly"] as const).map((allowed) =>
    gpus.filter((gpu) => gpu.allowed === allowed).map(({ index }) => index)
  );
  const names = [
    ...(whole && whole.length > 0 ? [`GPU ${formatRanges(whole).join(",")}`] : []),
    ...(parts && parts.length > 0 ? [`a part of GPU ${formatRanges(parts).join(",")}`] : []),
  ];
  return `the job was given ${names.length === 0 ? "no GPU" : names.join(" and ")}`;
}

function violationLines(
  { index, pid, command, contextBytes, explanation, fix, cause }: IsolationViolation,
  width: number | undefined,
): readonly string[] {
  return [
    `PID ${pid} (${printable(command)}) had ${formatBytes(contextBytes)} on GPU ${index}: ${cause}`,
    ...wrap(printable(explanation), { width, label: "  why: " }),
    ...wrap(printable(fix), { width, label: "  fix: " }),
  ];
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function joinBlocks(blocks: readonly (readonly string[])[]): string {
  return blocks.filter(({ length }) => length > 0).map((lines) => lines.map((line) => `${line}\n`).join(""))
    .join("\n");
}
