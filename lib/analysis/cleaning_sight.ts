/**
 * How far a cleaning could see. What it rests on and was not seen keeps it from being called clean. What nobody in its
 * place can see is named and forgiven, until there is memory that somebody unseen must hold.
 */
import type { GpuUuid } from "../core/ids.ts";
import { formatAbsent } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import { formatBytes } from "../core/units.ts";
import type { CleaningSight } from "../model/cleanup.ts";
import type { Gpu } from "../model/gpu.ts";
import type { ProcessScan } from "../model/observation.ts";
import { unexplainedOn } from "./account.ts";
import type { EndingPolicy } from "./ending_policy.ts";
import type { Judgement } from "./judge.ts";

/** More pids than this are a number. */
const NAMED = 5;

export interface SeenMachine {
  readonly gpus: readonly Gpu[];
  readonly judgement: Judgement;
  readonly scan: ProcessScan;
}

/** Judges what one look leaves unseen of the processes. GPUs that could not be read are another matter. */
export function judgeSight(seen: SeenMachine, policy: Pick<EndingPolicy, "gpus" | "pids">): CleaningSight {
  const { reader, coverage } = seen.scan;
  const [gaps, limits]: [string[], string[]] = [[], []];
  const isOwnOnly = !reader.isRoot;
  if (coverage.cutShort) {
    // Without root nobody else's processes are looked for.
    const isOfOthers = isOwnOnly && coverage.cutShort.why === "hidden";
    const what = isOfOthers ? "Other users' processes do not show" : "Not every process was looked at";
    (isOfOthers ? limits : gaps).push(`${what} (${formatAbsent(coverage.cutShort)})`);
  }
  const own = coverage.ownUnreadable.filter((pid) => policy.pids?.has(pid) ?? true);
  const others = coverage.unreadable - coverage.ownUnreadable.length;
  if (isOwnOnly && others > 0) {
    limits.push(
      `${plural(others, "process", "processes")} of other users ${
        others === 1 ? "was" : "were"
      } not looked into: without root only your own are ended`,
    );
  }
  if (own.length === 0) return { isOwnOnly, gaps, limits };
  const who = own.length > NAMED ? plural(own.length, "process", "processes") : `PID ${own.join(", ")}`;
  if (reader.isRoot && !reader.mayTrace) {
    gaps.push(`${who} could not be looked into: this root may not (CAP_SYS_PTRACE)`);
    return { isOwnOnly, gaps, limits };
  }
  const unseen = `${who} could not be looked into${reader.isRoot ? ", not even by root" : ": root may"}`;
  const unexplained = describeUnexplained(seen, policy.gpus);
  if (unexplained === undefined) limits.push(unseen);
  else gaps.push(`${unexplained}, and ${unseen}`);
  return { isOwnOnly, gaps, limits };
}

/** The memory that nobody who was seen explains: somebody who was not may hold it. */
function describeUnexplained(
  { gpus, judgement }: SeenMachine,
  chosen: ReadonlySet<GpuUuid> | undefined,
): string | undefined {
  const facts = judgement.holders.map((holder) => holder.facts);
  const parts = gpus.filter(({ uuid }) => chosen?.has(uuid) ?? true).flatMap((gpu) => {
    const left = unexplainedOn(gpu, facts);
    return left === undefined ? [] : [`${formatBytes(left)} on GPU ${gpu.index}`];
  });
  return parts.length === 0 ? undefined : `Nobody who was seen explains ${parts.join(", ")}`;
}
