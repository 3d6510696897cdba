/** How `gpuctl clean-zombies` says what it did: to a person, to a script, or to the journal. */
import { type Cleanup, type EndOutcome, isProven } from "../lib/model/cleanup.ts";
import type { Screen, World } from "../lib/world/ports.ts";

interface ReportOptions {
  readonly json?: true | undefined;
  readonly quiet?: true | undefined;
  readonly output?: string | undefined;
}

/** For a person the whole plan; for the journal one line an act, and silence when all is clean. */
export async function tellCleanup(
  cleanup: Cleanup,
  { json, quiet, output }: ReportOptions,
  { terminal, files }: Pick<World, "terminal" | "files">,
): Promise<void> {
  const isForJournal = terminal.isJournal && !json;
  if (isForJournal) { for (const line of await journalLines(cleanup)) terminal.err(line); }
  if (output === undefined) {
    const isSilent = quiet === true && !json && isClean(cleanup);
    if (!isForJournal && !isSilent) terminal.out(await renderReport(cleanup, json, terminal.screen));
    return;
  }
  const report = await renderReport(cleanup, json, undefined);
  try {
    files.writeWhole(output, report);
  } catch (error) {
    // What was done must not be lost with the file that was to tell of it.
    terminal.out(report);
    throw error;
  }
}

/** Whether there is nothing to tell; what was left behind and is spared for now is something. */
function isClean(cleanup: Cleanup): boolean {
  return cleanup.acts.length === 0 && cleanup.ghosts.length === 0 && isProven(cleanup) &&
    !cleanup.kept.some(({ isSpared }) => isSpared);
}

async function renderReport(
  cleanup: Cleanup,
  json: true | undefined,
  screen: Screen | undefined,
): Promise<string> {
  if (!json) {
    const [{ renderCleanup }, { optionsFor }] = await Promise.all([
      import("../lib/render/cleanup_text.ts"),
      import("../lib/render/screen.ts"),
    ]);
    return renderCleanup(cleanup, optionsFor(screen));
  }
  const [{ encodeCleanup }, { renderJson }] = await Promise.all([
    import("../lib/model/cleanup_json.ts"),
    import("../lib/render/json.ts"),
  ]);
  return renderJson(encodeCleanup(cleanup));
}

async function journalLines(cleanup: Cleanup): Promise<readonly string[]> {
  const [{ formatAct, formatUnproven }, { formatJournalLine }] = await Promise.all([
    import("../lib/render/cleanup_text.ts"),
    import("../lib/render/journal.ts"),
  ]);
  const ghosts = cleanup.ghosts.map(({ pid }) =>
    `memory of PID ${pid}, which is dead, is held and nothing may be ended for it`
  );
  const spared = cleanup.kept.filter(({ isSpared }) => isSpared).map(({ pid, class: name, why }) =>
    `${name} PID ${pid} left alone for now: ${why}`
  );
  const unproven = isProven(cleanup) ? [] : [formatUnproven(cleanup)];
  return [
    ...cleanup.acts.map((act) => formatJournalLine(priorityOf(act.outcome), formatAct(act))),
    ...spared.map((text) => formatJournalLine("info", text)),
    ...[...ghosts, ...unproven].map((text) => formatJournalLine("warning", text)),
  ];
}

function priorityOf(outcome: EndOutcome): "err" | "notice" | "info" {
  if (outcome === "survived" || outcome === "memory-held") return "err";
  return outcome === "planned" ? "info" : "notice";
}
