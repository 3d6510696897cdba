/** An alert for a person: one line, what it is about first. */
import { printable } from "../core/text.ts";
import { formatDuration } from "../core/units.ts";
import type { Alert, WatchEvent } from "../model/watch.ts";
import { formatJournalLine } from "./journal.ts";

/** What is the matter, since when, what shows it, and what to do; safe to print. */
export function formatAlert({ message, since, evidence, advice }: Alert): string {
  const shown = evidence.length === 0 ? "" : `; ${evidence.join("; ")}`;
  return printable(`${message}, since ${formatMoment(since)}${shown}. Next: ${advice}`);
}

/** The end of an alert. */
export function formatCleared(
  { alert: { message }, lasted }: Extract<WatchEvent, { event: "cleared" }>,
): string {
  return printable(`after ${formatDuration(lasted)}: ${message}`);
}

/** An event for the systemd journal, at the priority that it deserves. */
export function journalWatchEvent(event: WatchEvent): string {
  return event.event === "alert"
    ? formatJournalLine(event.alert.severity, formatAlert(event.alert))
    : formatJournalLine("info", `over ${formatCleared(event)}`);
}

/** `2026-11-30T13:02:11.123Z` as `2026-11-30 13:02:11 UTC`. */
function formatMoment(instant: string): string {
  return `${instant.slice(0, 19).replace("T", " ")} UTC`;
}
