/** Sums up the looks at the driver while a job runs. What it keeps grows with processes and GPUs, never with time. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { type Absent, absent, type Reading } from "../core/reading.ts";
import { type Bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import type { AccountedProcess } from "../model/accounting.ts";
import { type Context, type ContextKind, contextsOf, type DriverReport, type Gpu } from "../model/gpu.ts";

/** One look at the driver. */
export interface IsolationSample {
  /** Since the start of the job. */
  readonly at: Milliseconds;
  readonly report: Reading<DriverReport>;
}

/** One process's context on one GPU, or on one MIG device of it, over all looks. */
export interface WatchedContext {
  readonly pid: Pid;
  readonly kind: ContextKind;
  readonly gpuInstance: number | undefined;
  /** The most that it had; absent while no look said how much. */
  readonly peak: Reading<Bytes>;
  /** Why some look did not say how much; `undefined` if every one did. */
  readonly unread: Absent | undefined;
}

/** One GPU over all looks. */
export interface WatchedGpu {
  readonly contexts: readonly WatchedContext[];
  /** The highest use of the whole GPU. */
  readonly peakUsed: Reading<Bytes>;
  /** Looks in which the GPU was there. */
  readonly looks: number;
  /** Why a look did not show all its processes; `undefined` if every one did. */
  readonly unlisted: Absent | undefined;
}

const NEVER_SEEN: WatchedGpu = {
  contexts: [],
  peakUsed: absent("not-reported", "no look showed it"),
  looks: 0,
  unlisted: undefined,
};

interface Watch {
  readonly contexts: Map<string, WatchedContext>;
  peakUsed: Reading<Bytes>;
  looks: number;
  unlisted: Absent | undefined;
}

/** Sums samples up. Give them in the order of time. */
export class IsolationTally {
  readonly #gpus = new Map<GpuUuid, Watch>();
  readonly #met = new Map<GpuUuid, Gpu>();
  readonly #accounted = new Set<GpuUuid>();
  #looks = 0;
  #missed = 0;
  #whyMissed: Absent | undefined;
  #unreadable: Absent | undefined;
  #lastAt = milliseconds(0);
  #longestGap = milliseconds(0);

  /** Every GPU that some look showed, as the first of these did. */
  get gpus(): readonly Gpu[] {
    return [...this.#met.values()];
  }

  /** Looks that were answered. */
  get looks(): number {
    return this.#looks;
  }

  /** Looks that were not, and why the first was not. */
  get missed(): { readonly count: number; readonly reason: Absent | undefined } {
    return { count: this.#missed, reason: this.#whyMissed };
  }

  /** Why a GPU that the driver counts could not be opened in some look. */
  get unreadable(): Absent | undefined {
    return this.#unreadable;
  }

  /** The longest time without an answer, the one before the first included, and that before the end once it was told. */
  get longestGap(): Milliseconds {
    return this.#longestGap;
  }

  add({ at, report }: IsolationSample): void {
    if (!report.ok) {
      this.#missed++;
      this.#whyMissed ??= report;
      return;
    }
    this.#looks++;
    this.#longestGap = milliseconds(Math.max(this.#longestGap, at - this.#lastAt));
    this.#lastAt = at;
    this.#unreadable ??= report.value.unreadableGpus[0]?.reason;
    for (const gpu of report.value.gpus) this.#addGpu(gpu);
  }

  /** Tells when the watch ended: nothing was seen since the last look. */
  end(at: Milliseconds): void {
    if (this.#looks > 0) this.#longestGap = milliseconds(Math.max(this.#longestGap, at - this.#lastAt));
  }

  /**
   * Adds whom the driver has on record as having used a GPU. With that nobody has been missed there, however short his
   * stay was.
   */
  addAccounted(uuid: GpuUuid, processes: readonly AccountedProcess[]): void {
    this.#accounted.add(uuid);
    const watch: Watch = this.#gpus.get(uuid) ?? { ...NEVER_SEEN, contexts: new Map() };
    this.#gpus.set(uuid, watch);
    const seen = new Set(Array.from(watch.contexts.values(), ({ pid }) => pid));
    for (const { pid, peak } of processes) {
      if (!seen.has(pid)) addContext(watch.contexts, { pid, kind: "unknown", used: peak });
    }
  }

  /** Whether the driver's own record of who used a GPU was added. */
  isAccounted(uuid: GpuUuid): boolean {
    return this.#accounted.has(uuid);
  }

  /** What the looks showed of one GPU. */
  gpu(uuid: GpuUuid): WatchedGpu {
    const watch = this.#gpus.get(uuid);
    return watch ? { ...watch, contexts: [...watch.contexts.values()] } : NEVER_SEEN;
  }

  #addGpu(gpu: Gpu): void {
    const { uuid, memoryUsed, processList } = gpu;
    if (!this.#met.has(uuid)) this.#met.set(uuid, gpu);
    const watch: Watch = this.#gpus.get(uuid) ?? { ...NEVER_SEEN, contexts: new Map() };
    this.#gpus.set(uuid, watch);
    watch.looks++;
    watch.peakUsed = higher(watch.peakUsed, memoryUsed);
    if (processList.state !== "known") watch.unlisted ??= processList.reason;
    for (const context of contextsOf(processList)) addContext(watch.contexts, context);
  }
}

function addContext(contexts: Map<string, WatchedContext>, context: Context): void {
  const { pid, kind, used, gpuInstance, computeInstance } = context;
  const key = `${pid}/${gpuInstance ?? ""}/${computeInstance ?? ""}`;
  const before = contexts.get(key);
  // One look at a process as MPS client is enough; other kinds may come and go.
  const isMps = kind === "mps-client" || before?.kind === "mps-client";
  contexts.set(key, {
    pid,
    kind: isMps ? "mps-client" : kind,
    gpuInstance,
    peak: before ? higher(before.peak, used) : used,
    unread: before?.unread ?? (used.ok ? undefined : used),
  });
}

/** The higher of two readings. A look that did not say hides no value that another one gave. */
function higher(a: Reading<Bytes>, b: Reading<Bytes>): Reading<Bytes> {
  if (!a.ok) return b.ok ? b : a;
  return b.ok && b.value > a.value ? b : a;
}
