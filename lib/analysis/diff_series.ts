/** Memory over time for drawing: a fixed number of points, whatever the job's length. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { Gpu } from "../model/gpu.ts";
import type { JobSample } from "../model/job_sample.ts";
import { rowsOf } from "./diff_rows.ts";

/** A line of one GPU's chart: the highest value in each slot; NaN where nothing was read. */
export type Track = Float64Array;

/** One GPU's memory over time. */
export interface GpuSeries {
  /** All that is in use. */
  readonly total: Track;
  /** Other people's contexts, taken together. */
  readonly others: Track;
  /** Each of the job's processes, those that came first. */
  readonly processes: ReadonlyMap<Pid, Track>;
  /** The job's processes beyond those. */
  readonly rest: Track;
}

/** Even, so that two neighbours can always be made one. */
const SLOTS = 600;
const SHOWN_PROCESSES = 24;
const FIRST_SLOT = milliseconds(20);

/** Keeps the highest value of each slot; when a job outlasts the slots, neighbours become one and slots twice as long. */
export class MemorySeries {
  readonly #gpus = new Map<GpuUuid, MutableSeries>();
  #slot: number = FIRST_SLOT;
  #lastAt = 0;

  /** How much time one slot stands for. */
  get slot(): Milliseconds {
    return milliseconds(this.#slot);
  }

  /** The time of the last sample. */
  get lastAt(): Milliseconds {
    return milliseconds(this.#lastAt);
  }

  get gpus(): ReadonlyMap<GpuUuid, GpuSeries> {
    return this.#gpus;
  }

  add({ at, report, isJobs }: JobSample): void {
    this.#lastAt = Math.max(this.#lastAt, at);
    while (at >= this.#slot * SLOTS) this.#halve();
    if (!report.ok) return;
    const place = Math.floor(at / this.#slot);
    for (const gpu of report.value.gpus) this.#addGpu(gpu, place, isJobs);
  }

  #addGpu(gpu: Gpu, place: number, isJobs: (pid: Pid) => boolean): void {
    let series = this.#gpus.get(gpu.uuid);
    if (!series) this.#gpus.set(gpu.uuid, series = new MutableSeries());
    raise(series.total, place, gpu.memoryUsed.ok ? gpu.memoryUsed.value : NaN);
    let [others, rest] = [0, 0];
    for (const [pid, used] of rowsOf(gpu)) {
      const bytes = used.ok ? used.value : 0;
      const track = isJobs(pid) ? series.trackOf(pid) : undefined;
      if (track) raise(track, place, bytes);
      else if (isJobs(pid)) rest += bytes;
      else others += bytes;
    }
    raise(series.others, place, others);
    raise(series.rest, place, rest);
  }

  #halve(): void {
    this.#slot *= 2;
    for (const series of this.#gpus.values()) {
      for (const track of [series.total, series.others, series.rest, ...series.processes.values()]) {
        halve(track);
      }
    }
  }
}

class MutableSeries implements GpuSeries {
  readonly total = newTrack();
  readonly others = newTrack();
  readonly rest = newTrack();
  readonly processes = new Map<Pid, Track>();

  /** The track of a process; `undefined` for one too many. */
  trackOf(pid: Pid): Track | undefined {
    const known = this.processes.get(pid);
    if (known || this.processes.size >= SHOWN_PROCESSES) return known;
    const track = newTrack();
    this.processes.set(pid, track);
    return track;
  }
}

function newTrack(): Track {
  return new Float64Array(SLOTS).fill(NaN);
}

function raise(track: Track, place: number, value: number): void {
  track[place] = higher(track[place], value);
}

function halve(track: Track): void {
  for (let place = 0; place < SLOTS / 2; place++) {
    track[place] = higher(track[2 * place], track[2 * place + 1] ?? NaN);
  }
  track.fill(NaN, SLOTS / 2);
}

function higher(a: number | undefined, b: number): number {
  return a === undefined || !(a >= b) && !Number.isNaN(b) ? b : a;
}
