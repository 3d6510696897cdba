/** Where a watch goes: a table that is drawn anew, lines of JSON, or the journal; and beside them a file and a command. */
import { AlertHook } from "../lib/action/alert_hook.ts";
import type { WatchSink } from "../lib/action/watch.ts";
import { GpuctlError, messageOf } from "../lib/core/errors.ts";
import { type Absent, absent } from "../lib/core/reading.ts";
import { printable } from "../lib/core/text.ts";
import type { Milliseconds } from "../lib/core/units.ts";
import type { Problem } from "../lib/model/snapshot.ts";
import type { WatchEvent, WatchView } from "../lib/model/watch.ts";
import { formatProblem } from "../lib/render/problem_text.ts";
import type { World } from "../lib/world/ports.ts";

/** One place that is told. */
interface Output extends Pick<WatchSink, "show" | "tell"> {
  /** Tells what could not be done, unless that was told just now. */
  remark(remarks: readonly Problem[]): void;
}
type OutputWorld = Pick<World, "clock" | "terminal" | "files" | "runShell">;

export interface OutputOptions {
  readonly interval: Milliseconds;
  readonly json: boolean;
  readonly prometheus: string | undefined;
  readonly onAlert: string | undefined;
}

/** A sink to be told, and then to be waited for. */
export interface WatchOutput extends WatchSink {
  /** Settles once every command has ended, and what went wrong with the last of them was told. */
  finish(): Promise<void>;
}

/** Opens what the options name. */
export async function openWatchOutput(options: OutputOptions, world: OutputWorld): Promise<WatchOutput> {
  const { prometheus, onAlert } = options;
  const [main, file] = await Promise.all([
    openMain(options, world),
    prometheus === undefined ? undefined : openPrometheus(prometheus, world),
  ]);
  const hook = onAlert === undefined ? undefined : new AlertHook(onAlert, world);
  const problems = () => [...hook?.problems ?? [], ...file?.problems ?? []];
  return {
    show(view) {
      file?.show(view);
      main.show(view);
    },
    tell(event) {
      main.tell(event);
      if (event.event === "alert") hook?.push({ alert: event.alert, at: event.at });
    },
    get remarks() {
      return problems();
    },
    async finish() {
      await hook?.finish();
      main.remark(problems());
    },
  };
}

async function openMain({ json, interval }: OutputOptions, { terminal }: OutputWorld): Promise<Output> {
  if (!json && terminal.isJournal) return await openJournal(terminal);
  return json || terminal.screen === undefined
    ? await openLines(terminal)
    : await openTable(terminal, interval);
}

/** A service's standard output goes to the journal too: a line each second would fill it. */
async function openJournal(terminal: OutputWorld["terminal"]): Promise<Output> {
  const [{ journalWatchEvent }, { formatJournalLine }] = await Promise.all([
    import("../lib/render/watch_text.ts"),
    import("../lib/render/journal.ts"),
  ]);
  const say = sayOnce((sentence) => terminal.err(formatJournalLine("warning", sentence)));
  return {
    show: ({ remarks }) => say(remarks),
    tell: (event) => terminal.err(journalWatchEvent(event)),
    remark: say,
  };
}

async function openLines(terminal: OutputWorld["terminal"]): Promise<Output> {
  const [{ encodeWatchEvent, encodeWatchSample }, { renderJsonLine }] = await Promise.all([
    import("../lib/model/watch_json.ts"),
    import("../lib/render/json.ts"),
  ]);
  const say = sayOnce((sentence) => terminal.err(`gpuctl: ${sentence}\n`));
  return {
    show(view) {
      terminal.out(renderJsonLine(encodeWatchSample(view)));
      say(view.remarks);
    },
    tell: (event) => terminal.out(renderJsonLine(encodeWatchEvent(event))),
    remark: say,
  };
}

/** What is over stays on the screen for a while: whoever comes back sees what was. */
const SHOWN_OVER = 3;

async function openTable(terminal: OutputWorld["terminal"], interval: Milliseconds): Promise<Output> {
  const [{ renderWatchTable }, { Frame }] = await Promise.all([
    import("../lib/render/watch_table.ts"),
    import("../lib/render/frame.ts"),
  ]);
  const frame = new Frame();
  let over: readonly Extract<WatchEvent, { event: "cleared" }>[] = [];
  return {
    show(view) {
      const { screen } = terminal;
      const text = renderWatchTable(view, { screen, interval, over });
      terminal.out(screen === undefined ? text : frame.draw(text, screen));
    },
    tell(event) {
      if (event.event === "cleared") over = [...over, event].slice(-SHOWN_OVER);
    },
    remark: sayOnce((sentence) => terminal.err(`gpuctl: ${sentence}\n`)),
  };
}

/** Tells each remark when it comes up, and again once it has been away. */
function sayOnce(say: (sentence: string) => void): (remarks: readonly Problem[]) => void {
  let said: ReadonlySet<string> = new Set();
  return (remarks) => {
    const sentences = remarks.map((remark) => printable(formatProblem(remark, [": ", ""])));
    for (const sentence of sentences) if (!said.has(sentence)) say(sentence);
    said = new Set(sentences);
  };
}

/** Nobody scrapes more often, and each file is written through to the disk. */
const WRITE_EVERY_MS = 5000;

interface PrometheusFile {
  show(view: WatchView): void;
  readonly problems: readonly Problem[];
}

async function openPrometheus(path: string, { files }: OutputWorld): Promise<PrometheusFile> {
  const { renderWatchPrometheus } = await import("../lib/render/watch_prometheus.ts");
  let writtenAt = -Infinity;
  let shown: string | undefined;
  let failure: Absent | undefined;
  return {
    show(view) {
      const alerts = view.alerts.map(({ key }) => key).join();
      if (view.elapsed - writtenAt < WRITE_EVERY_MS && alerts === shown) return;
      [writtenAt, shown] = [view.elapsed, alerts];
      try {
        files.writeWhole(path, renderWatchPrometheus(view), { isWorldReadable: true });
        failure = undefined;
      } catch (error) {
        // A disk that is full now may have room again; the watch itself needs none.
        if (!(error instanceof GpuctlError)) throw error;
        failure = absent(error.failure === "denied" ? "no-permission" : "failed", messageOf(error));
      }
    },
    get problems() {
      const message = "The metrics of --prometheus are not up to date";
      return failure ? [{ subject: "--prometheus", reason: failure, message }] : [];
    },
  };
}
