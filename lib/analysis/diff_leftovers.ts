/** Who holds what a job left behind, and in one sentence why each is named. */
import type { GpuIndex, Pid } from "../core/ids.ts";
import { formatBytes } from "../core/units.ts";
import type { Handover, Leftover } from "../model/diff.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { JudgedGpu } from "./diff_gpu.ts";
import { collectLeftovers, type Reason } from "./diff_keepers.ts";

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
export function reasonOfHandover({ from, to, bytes }: Handover, gpu: GpuIndex): Reason {
  const verb = from.length === 1 ? "has" : "have";
  return {
    pid: to,
    gpu,
    before: `took over ${formatBytes(bytes)} on `,
    after: ` from PID ${from.join(", ")}, which ${verb} ended, as CUDA IPC does`,
  };
}

function reasonsOn(judged: JudgedGpu & { readonly gpu: Gpu }, frame: Frame): Reason[] {
  const { verdict, handovers, gpu } = judged;
  const named = verdict.kind === "held"
    ? verdict.by
    : [...judged.account.jobRows.keys()].filter((pid) =>
      frame.after.holders.some((holder) => holder.pid === pid)
    );
  const importers = new Set(handovers.map(({ to }) => to));
  return [
    ...handovers.map((handover) => reasonOfHandover(handover, gpu.index)),
    ...named.filter((pid) => !importers.has(pid))
      .map((pid) => ({ pid, gpu: gpu.index, ...whyHeld(pid, judged, frame) })),
  ];
}

function whyHeld(
  pid: Pid,
  { gpu, account }: JudgedGpu & { readonly gpu: Gpu },
  { after, isJobs }: Frame,
): Pick<Reason, "before" | "after"> {
  const own = account.jobRows.get(pid);
  if (own) {
    return { before: own.ok ? `holds ${formatBytes(own.value)} on ` : "has a context on ", after: "" };
  }
  const kept = after.ghosts.filter((ghost) =>
    ghost.gpu === gpu.uuid && ghost.likelyHolders.some((keeper) => keeper.pid === pid)
  );
  // Whose memory this job answers for comes before what was there already.
  const first = kept.find((ghost) => isJobs(ghost.pid)) ?? kept[0];
  if (!first) return { before: "has ", after: " mapped, where memory is charged to no process" };
  const amount = first.contextBytes.ok ? formatBytes(first.contextBytes.value) : "memory";
  const verb = first.likelyHolders.length === 1 ? "holds" : "may hold";
  const claim = ` that PID ${first.pid} allocated before it ended`;
  // What its class rests on stands in its evidence already.
  const evidence = after.holders.find((holder) => holder.pid === pid)?.evidence ?? [];
  const reasons = first.likelyHolders.find((keeper) => keeper.pid === pid)?.reasons ?? [];
  const more = reasons.filter((reason) => !evidence.includes(reason));
  return {
    before: `${verb} ${amount} on `,
    after: more.length === 0 ? claim : `${claim}: ${more.join(", ")}`,
  };
}
