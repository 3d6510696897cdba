/** What the parts of `gpuctl verify-isolation` that judge what runs have in common. */
import type { IsolatedRunning } from "../lib/action/isolate_running.ts";
import type { RunningWatchOptions } from "../lib/action/running_watch.ts";
import { ISOLATION_ENDINGS } from "../lib/analysis/isolation.ts";
import type { Ending } from "../lib/core/errors.ts";
import { type Bytes, formatDuration, type Milliseconds, milliseconds } from "../lib/core/units.ts";
import type { IsolationVerdict } from "../lib/model/isolation.ts";
import type { SourceChoice } from "../lib/model/source_choice.ts";
import type { World } from "../lib/world/ports.ts";
import { renderReport } from "./verify_isolation_report.ts";
import { tellProgress } from "./waiting.ts";

export interface RunningOptions {
  readonly source: SourceChoice;
  readonly threshold: Bytes;
  readonly deadline: Milliseconds;
  readonly for?: Milliseconds | undefined;
  readonly interval?: Milliseconds | undefined;
  readonly output?: string | undefined;
  readonly json?: true | undefined;
  readonly quiet?: true | undefined;
}

/** What is called often enough to see whatever lives for more than a moment, and costs the machine next to nothing. */
const INTERVAL = milliseconds(100);

/** How long to watch, and how. */
export function watchOf(
  { for: span, interval = INTERVAL, deadline }: RunningOptions,
): Pick<RunningWatchOptions, "look" | "watch"> {
  return {
    look: { within: deadline, withUtilization: false },
    watch: span === undefined ? undefined : { span, interval },
  };
}

/** Says that it is going to take a while, where it is. */
export function tellWatch(options: RunningOptions, { terminal }: Pick<World, "terminal">): void {
  const { for: span } = options;
  if (span !== undefined) tellProgress(terminal, options)(`watching what runs for ${formatDuration(span)}`);
}

/** For a person the whole report; for the journal a line for each finding, and silence when all is well. */
export async function tellVerdict(
  outcome: IsolatedRunning,
  options: RunningOptions,
  { terminal, files }: Pick<World, "terminal" | "files">,
): Promise<Ending> {
  const { isolation } = outcome;
  const isSilent = options.quiet === true && isolation.verdict === "isolated";
  if (options.output !== undefined) {
    files.writeWhole(options.output, await renderReport(outcome, options, undefined));
  } else if (terminal.isJournal && !options.json) {
    for (const text of await journalLines(isolation)) terminal.err(text);
  } else if (!isSilent) terminal.out(await renderReport(outcome, options, terminal.screen));
  return ISOLATION_ENDINGS[isolation.verdict];
}

async function journalLines(
  { violations, suspicions, problems }: IsolationVerdict,
): Promise<readonly string[]> {
  const [{ formatJournalLine }, { formatBroken, formatViolation }] = await Promise.all([
    import("../lib/render/journal.ts"),
    import("../lib/render/isolation_text.ts"),
  ]);
  const broken = violations.map((violation) =>
    formatViolation(violation) + (violation.rule ? `; ${formatBroken(violation.rule)}` : "")
  );
  return [
    ...broken.map((text) => formatJournalLine("err", text)),
    ...[...suspicions, ...problems].map(({ message }) => formatJournalLine("warning", message)),
  ];
}
