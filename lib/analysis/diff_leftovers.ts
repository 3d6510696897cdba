/** Who holds what a job left behind, and in one sentence why each is named. */
import type { GpuIndex, Pid } from "../core/ids.ts";
import { formatBytes } from "../core/units.ts";
import type { Handover, Leftover } from "../model/diff.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { JudgedGpu } from "./diff_gpu.ts";
import { collectLeftovers } from "./diff_keepers.ts";

interface Frame {
  readonly after: Snapshot;
  isJobs(pid: Pid): boolean;
}

/** Names the live processes that the verdicts of some GPUs point at, each once. */
export function findLeftovers(
  gpus: readonly (JudgedGpu & { readonly gpu: Gpu })[],
  frame: Frame,
): Leftover[] {
  return collectLeftovers(gpus.flatMap((judged) => reasonsOn(judged, frame)), frame.after, frame.isJobs);
}

/** Says what a process took over: `took over 3 GiB on GPU 0 from PID 12, which has ended, as CUDA IPC does`. */
export function describeHandover({ from, bytes }: Handover, gpu: GpuIndex): string {
  const verb = from.length === 1 ? "has" : "have";
  return `took over ${formatBytes(bytes)} on GPU ${gpu} from PID ${
    from.join(", ")
  }, which ${verb} ended, as CUDA IPC does`;
}

function reasonsOn(judged: JudgedGpu & { readonly gpu: Gpu }, frame: Frame): (readonly [Pid, string])[] {
  const { verdict, handovers, gpu } = judged;
  const named = verdict.kind === "held"
    ? verdict.by
    : [...judged.account.jobRows.keys()].filter((pid) =>
      frame.after.holders.some((holder) => holder.pid === pid)
    );
  const moved = handovers.map((handover) => [handover.to, describeHandover(handover, gpu.index)] as const);
  const importers = new Set(handovers.map(({ to }) => to));
  return [
    ...moved,
    ...named.filter((pid) => !importers.has(pid)).map((pid) => [pid, whyHeld(pid, judged, frame)] as const),
  ];
}

function whyHeld(pid: Pid, { gpu, account }: JudgedGpu & { readonly gpu: Gpu }, { after }: Frame): string {
  const own = account.jobRows.get(pid);
  if (own) {
    return own.ok
      ? `holds ${formatBytes(own.value)} on GPU ${gpu.index}`
      : `has a context on GPU ${gpu.index}`;
  }
  const kept = after.ghosts.filter((ghost) =>
    ghost.gpu === gpu.uuid && ghost.likelyHolders.some((keeper) => keeper.pid === pid)
  );
  const [first] = kept;
  if (!first) return `has GPU ${gpu.index} mapped, where memory is charged to no process`;
  const amount = first.contextBytes.ok ? formatBytes(first.contextBytes.value) : "memory";
  const claim = `${
    first.likelyHolders.length === 1 ? "holds" : "may hold"
  } ${amount} on GPU ${gpu.index} that PID ${first.pid} allocated before it ended`;
  // What its class rests on stands in its evidence already.
  const evidence = after.holders.find((holder) => holder.pid === pid)?.evidence ?? [];
  const reasons = first.likelyHolders.find((keeper) => keeper.pid === pid)?.reasons ?? [];
  const more = reasons.filter((reason) => !evidence.includes(reason));
  return more.length === 0 ? claim : `${claim}: ${more.join(", ")}`;
}
