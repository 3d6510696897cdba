/** What a job used, summed up sample by sample: nothing of a sample is kept but what it adds. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { absent, type Reading } from "../core/reading.ts";
import { type Bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import type { Handover } from "../model/diff.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import { findHandovers, type Rows, rowsOf, sumRows } from "./diff_rows.ts";

/** One look at the driver while a job runs or its memory comes back. */
export interface UsageSample {
  /** Since the start of the job. */
  readonly at: Milliseconds;
  readonly report: Reading<DriverReport>;
}

/** One process's use of one GPU over all samples. */
export interface ProcessUse {
  readonly peak: Reading<Bytes>;
  readonly firstAt: Milliseconds;
  readonly lastAt: Milliseconds;
  /** Since when it has used nine tenths of its peak or more without a break; absent where it gave back more. */
  readonly highSince: Milliseconds | undefined;
}

/** One GPU over all samples. */
export interface GpuUse {
  readonly peak: Reading<Bytes>;
  readonly jobPeak: Reading<Bytes>;
  readonly handovers: readonly Handover[];
}

/** An exporter's rows are gone at once; its importer may be charged some looks later. */
const HANDOVER_WINDOW = milliseconds(1000);
const HIGH_SHARE = 0.9;
const NOT_SAMPLED = absent("not-reported", "no sample was read");

interface Departure {
  readonly at: Milliseconds;
  readonly gone: Rows;
  readonly before: Rows;
}

interface GpuTally {
  peak: Reading<Bytes>;
  jobPeak: Reading<Bytes>;
  rows: Rows;
  departure: Departure | undefined;
  handovers: Map<Pid, Handover>;
}

/** Sums samples up. Give them in the order of time, the process lists already judged: `isJobs` must know every pid. */
export class UsageTally {
  readonly #gpus = new Map<GpuUuid, GpuTally>();
  readonly #processes = new Map<Pid, Map<GpuUuid, ProcessUse>>();
  readonly #tolerance: Bytes;
  #samples = 0;
  #missed = 0;

  constructor(tolerance: Bytes) {
    this.#tolerance = tolerance;
  }

  /** Samples that were read. */
  get samples(): number {
    return this.#samples;
  }

  /** Samples that had no answer. */
  get missed(): number {
    return this.#missed;
  }

  /** Each GPU's use by the job's processes. */
  get processes(): ReadonlyMap<Pid, ReadonlyMap<GpuUuid, ProcessUse>> {
    return this.#processes;
  }

  add(sample: UsageSample, isJobs: (pid: Pid) => boolean): void {
    if (!sample.report.ok) {
      this.#missed++;
      return;
    }
    this.#samples++;
    for (const gpu of sample.report.value.gpus) this.#addGpu(gpu, sample.at, isJobs);
  }

  /** What the samples show of one GPU; absent readings where none did. */
  useOf(uuid: GpuUuid): GpuUse {
    const tally = this.#gpus.get(uuid);
    if (!tally) return { peak: NOT_SAMPLED, jobPeak: NOT_SAMPLED, handovers: [] };
    return { peak: tally.peak, jobPeak: tally.jobPeak, handovers: [...tally.handovers.values()] };
  }

  #addGpu(gpu: Gpu, at: Milliseconds, isJobs: (pid: Pid) => boolean): void {
    const tally = this.#tallyOf(gpu.uuid);
    tally.peak = higher(tally.peak, gpu.memoryUsed);
    if (gpu.processList.state === "unknown") {
      tally.jobPeak = higher(tally.jobPeak, gpu.processList.reason);
      return;
    }
    const rows = rowsOf(gpu);
    tally.jobPeak = higher(tally.jobPeak, sumRows(rows, isJobs));
    for (const [pid, used] of rows) if (isJobs(pid)) this.#addProcess(pid, gpu.uuid, { at, used });
    this.#followHandovers(tally, rows, at, isJobs);
    tally.rows = rows;
  }

  #addProcess(pid: Pid, uuid: GpuUuid, { at, used }: { at: Milliseconds; used: Reading<Bytes> }): void {
    let uses = this.#processes.get(pid);
    if (!uses) this.#processes.set(pid, uses = new Map());
    const last = uses.get(uuid);
    const peak = higher(last?.peak ?? NOT_SAMPLED, used);
    const isHigh = used.ok && peak.ok && used.value >= peak.value * HIGH_SHARE;
    const hasRisen = last?.peak.ok && used.ok && last.peak.value < used.value * HIGH_SHARE;
    uses.set(uuid, {
      peak,
      firstAt: last?.firstAt ?? at,
      lastAt: at,
      highSince: isHigh ? (hasRisen ? at : last?.highSince ?? at) : undefined,
    });
  }

  #followHandovers(tally: GpuTally, rows: Rows, at: Milliseconds, isJobs: (pid: Pid) => boolean): void {
    const gone = new Map([...tally.rows].filter(([pid]) => !rows.has(pid) && isJobs(pid)));
    if (gone.size > 0) tally.departure = { at, gone, before: tally.rows };
    if (tally.departure === undefined || at - tally.departure.at > HANDOVER_WINDOW) return;
    const { gone: left, before } = tally.departure;
    for (const handover of findHandovers(left, { before, after: rows }, this.#tolerance)) {
      tally.handovers.set(handover.to, handover);
    }
  }

  #tallyOf(uuid: GpuUuid): GpuTally {
    let tally = this.#gpus.get(uuid);
    if (!tally) {
      tally = {
        peak: NOT_SAMPLED,
        jobPeak: NOT_SAMPLED,
        rows: new Map(),
        departure: undefined,
        handovers: new Map(),
      };
      this.#gpus.set(uuid, tally);
    }
    return tally;
  }
}

/** The higher of two readings; the one that is known where the other is not. */
function higher(a: Reading<Bytes>, b: Reading<Bytes>): Reading<Bytes> {
  if (a.ok && b.ok) return b.value > a.value ? b : a;
  return b.ok || a === NOT_SAMPLED ? b : a;
}
