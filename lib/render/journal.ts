/** Lines for the systemd journal: `<N>` in front sets the priority (sd-daemon(3), SD_NOTICE and others). */

/** Priorities of syslog(3). */
export const PRIORITY = { err: 3, warning: 4, notice: 5, info: 6 } as const;

/** One journal line; a line break inside the text would start another record. */
export function formatJournalLine(priority: keyof typeof PRIORITY, text: string): string {
  return `<${PRIORITY[priority]}>${text.replace(/[\r\n]+/g, " ")}\n`;
}
