/** What a cleaning did, or would do, for a person. */
import { nameIndexes } from "../core/ranges.ts";
import { bytes, formatBytes, formatDuration } from "../core/units.ts";
import { plural, printable, truncate } from "../core/text.ts";
import { type Act, type Cleanup, type EndOutcome, isProven } from "../model/cleanup.ts";
import type { Ghost } from "../model/snapshot.ts";
import { PLAIN } from "./colour.ts";
import { fit, wrap } from "./layout.ts";
import { SIMULATED } from "./simulated.ts";
import { CONCERNS } from "./snapshot_columns.ts";
import type { TableOptions } from "./table.ts";

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

/** Subjects of problems that the cleaning's own sight has better sentences for. */
const SAID_BY_SIGHT = ["descriptors", "processes"];

/** Renders a cleaning: the acts with their evidence, what was left alone and why, and one line that sums it up. */
export function renderCleanup(
  cleanup: Cleanup,
  { width, paint }: TableOptions = { width: undefined, paint: PLAIN },
): string {
  const { acts, ghosts, kept, problems, sight } = cleanup;
  const say = (label: string, text: string) => wrap(printable(text), { width, label });
  const titled = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [paint(title, "bold"), ...lines];
  const others = problems.filter(({ subject }) => !SAID_BY_SIGHT.includes(subject));
  const lines = [
    ...(cleanup.simulated ? [SIMULATED] : []),
    ...acts.flatMap((act) => actLines(act, width)),
    ...titled("Held by the dead:", ghosts.flatMap((ghost) => say("  ", describeGhost(ghost)))),
    ...titled(
      "Left alone:",
      kept.flatMap(({ pid, class: name, why }) => say(`  PID ${pid}  `, `${name}: ${why}`)),
    ),
    ...[...others.map(({ message }) => message), ...sight.gaps].flatMap((text) => say("Not seen: ", text)),
    ...sight.limits.flatMap((text) => say("Note: ", text)),
    ...say("", summaryOf(cleanup)),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function describeGhost({ pid, contextBytes, likelyHolders }: Ghost): string {
  const size = contextBytes.ok ? formatBytes(contextBytes.value) : "memory";
  const who = likelyHolders.length === 0
    ? "and no live process can be seen that keeps it"
    : `likely kept by PID ${likelyHolders.map((holder) => holder.pid).join(", ")}`;
  return `PID ${pid} is dead and still listed with ${size}: ${who}`;
}

/** One act in one line, for a journal. */
export function formatAct(act: Act): string {
  const command = truncate(printable(act.command), COMMAND_WIDTH);
  return `${act.class} PID ${act.pid} (${command}) ${OUTCOME_WORDS[act.outcome]}: ${releaseOf(act)}`;
}

function actLines(act: Act, width: number | undefined): string[] {
  const head = `PID ${act.pid}  ${act.class}  `;
  const room = Math.min(COMMAND_WIDTH, (width ?? Infinity) - head.length);
  return [
    head + fit(printable(act.command), room),
    ...act.evidence.flatMap((sentence) => wrap(printable(sentence), { width, label: "    " })),
    ...wrap(`${OUTCOME_WORDS[act.outcome]}: ${releaseOf(act)}`, { width, label: "  " }),
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

/** What keeps "nothing to clean" from being proven, in one sentence. */
export function formatUnproven({ unreadGpus, sight }: Pick<Cleanup, "unreadGpus" | "sight">): string {
  const gpus = unreadGpus.length === 0 ? [] : [`Who holds ${nameIndexes(unreadGpus)} could not be read`];
  return `${[...gpus, ...sight.gaps].join("; ")}: that is not the same as nothing to clean.`;
}

function summaryOf(cleanup: Cleanup): string {
  const { isPlan, acts } = cleanup;
  if (acts.length === 0) return summaryOfNone(cleanup);
  const total = formatTotal(cleanup);
  const processes = plural(acts.length, "process", "processes");
  if (isPlan) return `${processes} would be ended, holding ${total}. Nothing was done: --yes carries it out.`;
  const failed = acts.filter(({ outcome }) =>
    outcome !== "ended" && outcome !== "ended-by-force" && outcome !== "already-gone"
  );
  return failed.length === 0
    ? `${processes} ended, ${total} came back.`
    : `${acts.length - failed.length} of ${processes} ended; see above for the rest.`;
}

/** The rows name what several acts keep once for each of them; their sum then needs a word. */
function formatTotal({ acts, heldBytes }: Pick<Cleanup, "acts" | "heldBytes">): string {
  if (heldBytes === null) return "an unknown amount";
  const told = acts.reduce((sum, { bytesBefore }) => sum + (bytesBefore ?? 0), 0);
  return formatBytes(heldBytes) + (told > heldBytes ? " (what they share counted once)" : "");
}

/** Nothing to end: is it clean? Who may be ended later says more than whose memory it is. */
function summaryOfNone(cleanup: Cleanup): string {
  const { kept, ghosts, sight } = cleanup;
  const holders = plural(kept.length, "holder");
  const spared = kept.filter(({ isSpared }) => isSpared).length;
  if (spared > 0) {
    return `Nothing may be ended yet: ${spared} of ${holders} left behind, spared for the reasons above. ` +
      "Wait, or name with --pid who is young or at work.";
  }
  if (ghosts.length > 0) return "Memory is held, and there is nothing that may be ended.";
  if (!isProven(cleanup)) return formatUnproven(cleanup);
  const left = kept.filter(({ class: name }) => CONCERNS[name] === "left-behind").length;
  if (left > 0) {
    return `Nothing to end: ${left} of ${holders} left behind, and left alone for the reasons above.`;
  }
  return `Nothing${sight.isOwnOnly ? " of yours" : ""} to clean: ${holders}, none of them left behind.`;
}
