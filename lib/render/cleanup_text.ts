/** What a cleaning did, or would do, for a person. */
import { bytes, formatBytes, formatDuration } from "../core/units.ts";
import { plural, printable, truncate } from "../core/text.ts";
import type { Act, Cleanup, EndOutcome } from "../model/cleanup.ts";
import { CONCERNS } from "./snapshot_columns.ts";

const COMMAND_WIDTH = 60;

const OUTCOME_WORDS = {
  planned: "would be ended",
  ended: "ended",
  "ended-by-force": "ended by SIGKILL",
  "already-gone": "was already gone",
  changed: "left alone: it had changed",
  denied: "could not be signalled: permission",
  survived: "SURVIVED SIGKILL",
  "memory-held": "ended, but its memory is still held",
} as const satisfies Record<EndOutcome, string>;

/** Renders a cleaning: the acts with their evidence, what was left alone and why, and one line that sums it up. */
export function renderCleanup(cleanup: Cleanup): string {
  const lines: string[] = [];
  if (cleanup.simulated) lines.push("Simulated server.");
  for (const act of cleanup.acts) lines.push(...actLines(act));
  const ghosts = cleanup.ghosts.map(({ pid, contextBytes, likelyHolders }) => {
    const size = contextBytes.ok ? formatBytes(contextBytes.value) : "memory";
    const who = likelyHolders.length === 0
      ? "and no live process can be seen that keeps it"
      : `likely kept by PID ${likelyHolders.map((holder) => holder.pid).join(", ")}`;
    return `  PID ${pid} is dead and still listed with ${size}: ${who}`;
  });
  if (ghosts.length > 0) lines.push("Held by the dead:", ...ghosts);
  if (cleanup.kept.length > 0) {
    lines.push("Left alone:");
    for (const { pid, class: name, why } of cleanup.kept) {
      lines.push(`  PID ${pid}  ${name}: ${printable(why)}`);
    }
  }
  for (const { message } of cleanup.problems) lines.push(`Not seen: ${printable(message)}`);
  lines.push(summaryOf(cleanup));
  return `${lines.join("\n")}\n`;
}

/** One act in one line, for a journal. */
export function formatAct(act: Act): string {
  const command = truncate(printable(act.command), COMMAND_WIDTH);
  return `${act.class} PID ${act.pid} (${command}) ${OUTCOME_WORDS[act.outcome]}: ${releaseOf(act)}`;
}

function actLines(act: Act): string[] {
  const command = truncate(printable(act.command), COMMAND_WIDTH);
  return [
    `PID ${act.pid}  ${act.class}  ${command}`,
    ...act.evidence.map((sentence) => `    ${printable(sentence)}`),
    `  ${OUTCOME_WORDS[act.outcome]}: ${releaseOf(act)}`,
  ];
}

function releaseOf({ outcome, bytesBefore, bytesAfter, releaseMs }: Act): string {
  if (outcome === "planned") {
    return bytesBefore === null ? "how much it holds is not known" : `holds ${formatBytes(bytesBefore)}`;
  }
  if (bytesBefore === null || bytesAfter === null) return "how much came back is not known";
  const back = bytes(Math.max(0, bytesBefore - bytesAfter));
  const time = releaseMs === null ? "" : ` in ${formatDuration(releaseMs)}`;
  const rest = bytesAfter > 0 ? `, ${formatBytes(bytesAfter)} did not` : "";
  return `${formatBytes(back)} came back${time}${rest}`;
}

/** What keeps "nothing to clean" from being proven. */
export function formatUnread({ unreadGpus }: Pick<Cleanup, "unreadGpus">): string {
  const gpus = unreadGpus.join(", ");
  return `Who holds GPU ${gpus} could not be read: that is not the same as nothing to clean.`;
}

function summaryOf(cleanup: Cleanup): string {
  const { isPlan, acts, heldBytes, kept, ghosts, unreadGpus } = cleanup;
  if (acts.length === 0 && ghosts.length === 0) {
    if (unreadGpus.length > 0) return formatUnread(cleanup);
    const holders = plural(kept.length, "holder");
    const spared = kept.filter(({ class: name }) => CONCERNS[name] === "left-behind").length;
    return spared === 0
      ? `Nothing to clean: ${holders}, none of them left behind.`
      : `Nothing may be ended: ${spared} of ${holders} left behind, spared for the reasons above.`;
  }
  const total = heldBytes === null ? "an unknown amount" : formatBytes(heldBytes);
  if (acts.length === 0) return "Memory is held, and there is nothing that may be ended.";
  const processes = plural(acts.length, "process", "processes");
  if (isPlan) return `${processes} would be ended, holding ${total}. Nothing was done: --yes carries it out.`;
  const failed = acts.filter(({ outcome }) =>
    outcome !== "ended" && outcome !== "ended-by-force" && outcome !== "already-gone"
  );
  return failed.length === 0
    ? `${processes} ended, ${total} came back.`
    : `${acts.length - failed.length} of ${processes} ended; see above for the rest.`;
}
