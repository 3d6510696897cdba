/** What the driver lists on one GPU, by pid, and how two such lists differ. */
import type { Pid } from "../core/ids.ts";
import { known, type Reading } from "../core/reading.ts";
import { type ByteChange, byteChange, type Bytes, bytes } from "../core/units.ts";
import { contextsOf, type Gpu } from "../model/gpu.ts";
import type { Handover } from "../model/diff.ts";

/** Memory of each listed pid on one GPU, its contexts there taken together. */
export type Rows = ReadonlyMap<Pid, Reading<Bytes>>;

const MIB = 1024 ** 2;
/** A context with nothing in it: 520 to 560 MiB on an H200 (driver 580.159.04), up to 700 on others. It is not handed over. */
const CONTEXT_OVERHEAD = 700 * MIB;
/** How much of what can be handed over has to turn up at the other process. */
const HANDED_OVER_SHARE = 0.75;

/** The rows of a GPU; none where its list is unknown, which says nothing about who is there. */
export function rowsOf(gpu: Gpu): Rows {
  const rows = new Map<Pid, Reading<Bytes>>();
  for (const { pid, used } of contextsOf(gpu.processList)) {
    const other = rows.get(pid);
    rows.set(pid, other === undefined ? used : addReadings(other, used));
  }
  return rows;
}

/** The sum of some rows; absent as soon as one of them is. */
export function sumRows(rows: Rows, isCounted: (pid: Pid) => boolean): Reading<Bytes> {
  let sum: Reading<Bytes> = known(bytes(0));
  for (const [pid, used] of rows) if (isCounted(pid)) sum = addReadings(sum, used);
  return sum;
}

/** How much more the counted pids use in `after`. A pid that reports nothing in both is taken to have stayed as it was. */
export function changeOf(before: Rows, after: Rows, isCounted: (pid: Pid) => boolean): Reading<ByteChange> {
  let change = 0;
  for (const pid of new Set([...before.keys(), ...after.keys()])) {
    if (!isCounted(pid)) continue;
    const [was, is] = [before.get(pid), after.get(pid)];
    if (was && is && !was.ok && !is.ok) continue;
    if (was && !was.ok) return was;
    if (is && !is.ok) return is;
    change += (is?.value ?? 0) - (was?.value ?? 0);
  }
  return known(byteChange(change));
}

/** What is new since an earlier reading; negative where it has shrunk. */
export function differenceOf(before: Reading<Bytes>, after: Reading<Bytes>): Reading<ByteChange> {
  if (!before.ok) return before;
  if (!after.ok) return after;
  return known(byteChange(after.value - before.value));
}

/**
 * Finds the processes that grew by what ended ones had: memory that CUDA IPC shares is charged to the importer once its
 * exporter is gone. A bare context is not handed over, and nobody can take over more than there was.
 */
export function findHandovers(
  gone: Rows,
  { before, after }: { readonly before: Rows; readonly after: Rows },
  tolerance: Bytes,
): Handover[] {
  const lost = [...gone].flatMap(([pid, used]) => used.ok ? [{ pids: [pid], bytes: used.value }] : []);
  if (lost.length > 1) {
    lost.push({
      pids: lost.flatMap(({ pids }) => pids),
      bytes: bytes(lost.reduce((sum, one) => sum + one.bytes, 0)),
    });
  }
  return [...after].flatMap(([pid, is]): Handover[] => {
    const was = before.get(pid);
    if (gone.has(pid) || !was?.ok || !is.ok) return [];
    const growth = is.value - was.value;
    const source = growth > tolerance && lost.find((one) => mayHaveHandedOver(one.bytes, growth, tolerance));
    return source ? [{ from: source.pids, to: pid, bytes: bytes(growth) }] : [];
  });
}

function mayHaveHandedOver(lost: Bytes, growth: number, tolerance: Bytes): boolean {
  const shareable = Math.max(lost - CONTEXT_OVERHEAD, lost / 3);
  return growth <= lost + tolerance && growth >= shareable * HANDED_OVER_SHARE;
}

function addReadings(a: Reading<Bytes>, b: Reading<Bytes>): Reading<Bytes> {
  if (!a.ok) return a;
  return b.ok ? known(bytes(a.value + b.value)) : b;
}
