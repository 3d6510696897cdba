/** A watch on a terminal: the alerts that stand, what is over, and below them the snapshot as it is now. */
import { plural, printable } from "../core/text.ts";
import { formatDuration, type Milliseconds } from "../core/units.ts";
import { SEVERITIES, type Severity, type WatchEvent, type WatchView } from "../model/watch.ts";
import { COLOUR, type Paint, PLAIN, type Tone } from "./colour.ts";
import { wrap } from "./layout.ts";
import { formatProblem } from "./problem_text.ts";
import { renderBriefSnapshot, type Screen } from "./snapshot_table.ts";
import { formatAlert, formatCleared } from "./watch_text.ts";

const TONE_OF = { err: "red", warning: "yellow", notice: "plain" } as const satisfies Record<Severity, Tone>;

/** More would push the machine itself off the screen. */
const SHOWN_ALERTS = 8;

export interface WatchTableOptions {
  readonly screen: Screen | undefined;
  readonly interval: Milliseconds;
  /** What has come and gone, the newest last. */
  readonly over: readonly Extract<WatchEvent, { event: "cleared" }>[];
}

/** Writes how things stand. */
export function renderWatchTable(view: WatchView, { screen, interval, over }: WatchTableOptions): string {
  const width = screen?.columns;
  const paint: Paint = screen?.hasColour ? COLOUR : PLAIN;
  const { alerts, remarks, elapsed, processesAge } = view;
  const worstFirst = alerts.toSorted((a, b) =>
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)
  );
  const state = `watching for ${formatDuration(elapsed)}, every ${
    formatDuration(interval)
  }; processes looked at ${formatDuration(processesAge)} ago; ${
    alerts.length === 0 ? "no alert" : plural(alerts.length, "alert")
  }`;
  const blocks = [
    wrap(state, { width, label: "" }),
    alerts.length === 0 ? [] : [
      paint("ALERTS", "bold"),
      ...worstFirst.slice(0, SHOWN_ALERTS).flatMap((alert) =>
        wrap(formatAlert(alert), { width, label: "  " }).map((line) => paint(line, TONE_OF[alert.severity]))
      ),
      ...alerts.length > SHOWN_ALERTS ? [`  and ${alerts.length - SHOWN_ALERTS} more`] : [],
    ],
    over.length === 0 ? [] : [
      paint("OVER", "bold"),
      ...over.flatMap((event) => wrap(formatCleared(event), { width, label: "  " })),
    ],
    remarks.flatMap((remark) => wrap(printable(formatProblem(remark)), { width, label: "  " })),
  ];
  const lines = blocks.flat().map((line) => `${line}\n`).join("");
  return `${lines}\n${renderBriefSnapshot(view.snapshot, screen)}`;
}
