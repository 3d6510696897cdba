import { formatSignal } from "../core/signals.ts";
import { printable, quoteArguments, truncate } from "../core/text.ts";
import { formatDuration } from "../core/units.ts";
import type { ChildEnd, RanJob } from "../model/diff.ts";

const COMMAND_WIDTH = 70;

/** How a command ended, in one sentence. */
export function describeRun({ command, end, hasTimedOut, ranFor }: RanJob): string {
  const name = truncate(printable(quoteArguments(command)), COMMAND_WIDTH);
  const time = formatDuration(ranFor);
  return hasTimedOut
    ? `${name}: ran out of time and was ended after ${time}`
    : `${name}: ${describeEnd(end)} after ${time}`;
}

function describeEnd(end: ChildEnd): string {
  return end.kind === "exited"
    ? `ended with status ${end.status}`
    : `was ended by ${formatSignal(end.signal)}`;
}
