/** From the process rows of one GPU to the model's process list: what is known, what is missing, and why. */
import { isPid } from "../../core/ids.ts";
import { type Absent, absent, type Reading, valueOf } from "../../core/reading.ts";
import { plural, printable } from "../../core/text.ts";
import type { Bytes } from "../../core/units.ts";
import type { Context, ContextKind, ProcessList } from "../../model/gpu.ts";
import type { ProblemLog } from "./problem_log.ts";
import type { RawListing, RawProcess } from "./raw.ts";
import { countOf, excerpt, findName, memoryOf } from "./values.ts";

const MIB = 1024 ** 2;
const KINDS: ReadonlyMap<string, ContextKind> = new Map([
  ["C", "compute"],
  ["G", "graphics"],
  ["C+G", "compute+graphics"],
  ["G+C", "compute+graphics"],
  ["M", "mps-client"],
  ["M+C", "mps-client"],
]);

/** What the rest of a GPU says that its list is judged by. */
export interface ListSetting {
  /** For messages: `GPU 0`. */
  readonly subject: string;
  /** The GPU's used memory; `undefined` where the text does not show it. */
  readonly used: Reading<Bytes> | undefined;
  /** The GPU is lost or needs a reset: then nothing is known to be the whole list. */
  readonly condition: Absent | undefined;
}

/** The process list of one GPU. Rows that cannot be read are problems and leave the list incomplete. */
export function processListOf(
  listing: RawListing | undefined,
  setting: ListSetting,
  problems: ProblemLog,
): ProcessList {
  if (!listing) {
    const reason = setting.condition ?? absent("not-reported", "this output shows no processes");
    return { state: "unknown", reason };
  }
  if (listing.coverage === "unread") {
    return { state: "unknown", reason: setting.condition ?? listing.reason ?? absent("not-reported") };
  }
  const contexts: Context[] = [];
  let unreadable = listing.unreadable;
  for (const row of listing.rows) {
    const context = contextOf(row, setting.subject, problems);
    if (context) contexts.push(context);
    else unreadable++;
  }
  if (setting.condition && contexts.length === 0) return { state: "unknown", reason: setting.condition };
  const reason = setting.condition ?? reasonFor({ ...listing, unreadable }, contexts, setting.used);
  return reason === undefined ? { state: "known", contexts } : { state: "incomplete", contexts, reason };
}

/** Why a list may lack processes, if it may. */
function reasonFor(
  { coverage, hidden, unreadable, elsewhere = 0, isLast = false }: RawListing,
  contexts: readonly Context[],
  used: Reading<Bytes> | undefined,
): Absent | undefined {
  if (unreadable > 0) return absent("implausible", `${plural(unreadable, "row")} could not be read`);
  if (hidden > 0) return absent("hidden", `${plural(hidden, "process", "processes")} without a pid or a GPU`);
  if (elsewhere > 0) {
    return absent(
      "implausible",
      `another output in the text has ${plural(elsewhere, "more process", "more processes")}`,
    );
  }
  if (coverage === "compute") return absent("not-reported", "the query shows compute processes only");
  if (coverage === "all" && !isLast) return undefined;
  // nvidia-smi leaves out a process whose name it cannot read, a dead one above all. Where the rows account for all that
  // is used, none that holds memory is missing.
  const left = used === undefined ? undefined : unexplained(contexts, used);
  if (left !== undefined && Math.abs(left) <= contexts.length * MIB) return undefined;
  const detail = isLast
    ? "the text ends among the processes: it may be cut"
    : "nvidia-smi leaves out processes that it cannot name";
  return absent(
    "hidden",
    left !== undefined && left > 0 ? `${detail}; ${left / MIB} MiB in use have no row` : detail,
  );
}

function unexplained(contexts: readonly Context[], used: Reading<Bytes>): number | undefined {
  const counts = contexts.map((context) => valueOf(context.used));
  const known = counts.filter((count) => count !== undefined);
  if (!used.ok || known.length < counts.length) return undefined;
  return known.reduce((left: number, count) => left - count, used.value);
}

function contextOf(row: RawProcess, subject: string, problems: ProblemLog): Context | undefined {
  const pid = /^\d{1,10}$/.test(row.pid) ? Number(row.pid) : 0;
  if (!isPid(pid)) {
    problems.addLine(row.line + 1, row.pid, "a pid");
    return undefined;
  }
  const name = findName(row.name);
  if (row.name !== undefined && name === undefined) {
    const words = excerpt(row.name);
    problems.add(
      `process ${pid} on ${subject}`,
      words === "" ? absent("not-reported") : absent("not-reported", words),
      `nvidia-smi could not name process ${pid}${
        words === "" ? "" : ` (${printable(words)})`
      }: it is dead, or cannot be seen from where it was asked`,
    );
  }
  const gpuInstance = valueOf(countOf(row.gpuInstance));
  const computeInstance = valueOf(countOf(row.computeInstance));
  return {
    pid,
    kind: KINDS.get(row.type?.trim() ?? "") ?? "unknown",
    used: memoryOf(row.memory),
    ...(gpuInstance === undefined ? {} : { gpuInstance }),
    ...(computeInstance === undefined ? {} : { computeInstance }),
    ...(name === undefined ? {} : { name }),
  };
}
