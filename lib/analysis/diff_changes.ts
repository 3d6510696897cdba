/** How the contexts of one GPU differ between two snapshots. */
import type { Pid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { type Bytes, bytes } from "../core/units.ts";
import type { ContextChange, Handover } from "../model/diff.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Snapshot } from "../model/snapshot.ts";
import { isSameProcess } from "./diff_comparison.ts";
import type { Looks } from "./diff_keepers.ts";
import { findHandovers, type Rows, rowsOf } from "./diff_rows.ts";

/** Two snapshots, and what is no change between them. */
export interface Pair extends Looks {
  readonly tolerance: Bytes;
}

/** The contexts of one GPU that came, went, grew or shrank. What a list that is not whole leaves out did neither. */
export function changesOn(before: Gpu, after: Gpu, pair: Pair): ContextChange[] {
  const [was, is] = [rowsOf(before), rowsOf(after)];
  const isEqual = isSameQuery([before, pair.before], [after, pair.after]);
  const [wasWhole, isWhole] = [before, after].map(({ processList }) =>
    isEqual || processList.state === "known"
  );
  const kept = new Set(
    [...was.keys()].filter((pid) => is.has(pid) && isSameProcess(pid, pair.before, pair.after)),
  );
  const gone = [...was].filter(([pid]) => isWhole && !kept.has(pid))
    .map(([pid, used]) =>
      contextChange("gone", pid, { gpu: before, snapshot: pair.before, was: used, is: GONE })
    );
  const here = [...is].flatMap(([pid, used]): ContextChange[] => {
    const place = { gpu: after, snapshot: pair.after, is: used };
    const earlier = kept.has(pid) ? was.get(pid) : undefined;
    if (!earlier) return wasWhole ? [contextChange("new", pid, { ...place, was: GONE })] : [];
    if (!earlier.ok || !used.ok || Math.abs(used.value - earlier.value) <= pair.tolerance) return [];
    return [contextChange(used.value > earlier.value ? "grown" : "shrunk", pid, { ...place, was: earlier })];
  });
  return [...gone, ...here];
}

/** Whether both lists are the answers of one query of nvidia-smi, which leaves out the same kinds of rows each time. */
function isSameQuery(...looks: readonly (readonly [Gpu, Snapshot])[]): boolean {
  const reasons = looks.map(([{ processList }, { source }]) =>
    processList.state === "incomplete" && processList.reason.why === "not-reported" &&
      (source === "file" || source === "nvidia-smi")
      ? processList.reason.detail
      : undefined
  );
  return reasons[0] !== undefined && reasons.every((reason) => reason === reasons[0]);
}

/** A context that is not listed holds nothing. */
const GONE = known(bytes(0));

function contextChange(
  kind: ContextChange["kind"],
  pid: Pid,
  { gpu, snapshot, was, is }: {
    readonly gpu: Gpu;
    readonly snapshot: Snapshot;
    readonly was: Reading<Bytes>;
    readonly is: Reading<Bytes>;
  },
): ContextChange {
  const holder = snapshot.holders.find((holder) => holder.pid === pid);
  const dead = absent("exited", "it was dead already when the snapshot was taken");
  return {
    kind,
    gpu: gpu.uuid,
    pid,
    startTicks: holder?.startTicks ?? dead,
    argv: holder?.argv ?? dead,
    name: holder?.name ?? "",
    before: was,
    after: is,
  };
}

/** Memory that passed from contexts that went to contexts that grew. */
export function handoversOn(
  before: Gpu,
  after: Gpu,
  changes: readonly ContextChange[],
  tolerance: Bytes,
): Handover[] {
  const changed = (kind: ContextChange["kind"]) => changes.filter((change) => change.kind === kind);
  const gone: Rows = new Map(changed("gone").map(({ pid, before }) => [pid, before]));
  const grown: Rows = new Map(changed("grown").map(({ pid, after }) => [pid, after]));
  // A pid that another process has by now is in both lists, and its old owner is gone all the same.
  return findHandovers(gone, { before: rowsOf(before), after: grown }, tolerance)
    .filter(({ to }) => rowsOf(after).has(to));
}
