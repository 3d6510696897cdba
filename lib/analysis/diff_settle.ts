/** Whether memory is back after a job, still coming back, or not coming back any more. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { type Bytes, bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import type { ReleaseRate } from "../model/diff.ts";
import type { Gpu } from "../model/gpu.ts";
import { accountChange, remainingOf } from "./diff_account.ts";
import type { UsageSample } from "./diff_usage.ts";

/** `unreadable`: no GPU that matters gave an answer. */
export type SettleState = "waiting" | "settled" | "stalled" | "unreadable";

/**
 * How long nothing may happen before the release counts as stalled. PyTorch's loader workers hold everything and leave
 * by themselves 5 to 6 s after their main process died (measured on an H200), and must not be called a leak before.
 */
const STALL_STRETCH = milliseconds(7000);
/** The stretch at the end of the wait that a rate is measured over. */
const RATE_WINDOW = milliseconds(2000);

interface Point {
  readonly at: Milliseconds;
  readonly remaining: number;
}

interface GpuSettling {
  backAt: Milliseconds | undefined;
  readonly points: Point[];
}

/** What the wait is measured against. */
export interface SettleTerms {
  readonly before: readonly Gpu[];
  readonly tolerance: Bytes;
  /** GPUs that need not come back: the job was never seen there. */
  isTouched(uuid: GpuUuid): boolean;
  isJobs(pid: Pid): boolean;
}

/** Follows the memory of the job's GPUs from the end of the job on. */
export class SettleWatch {
  readonly #terms: SettleTerms;
  readonly #gpus = new Map<GpuUuid, GpuSettling>();
  #lowest = Infinity;
  #movedAt: Milliseconds | undefined;

  constructor(terms: SettleTerms) {
    this.#terms = terms;
  }

  /** Takes one more look in and says how things stand. */
  add({ at, report }: UsageSample): SettleState {
    if (!report.ok) return "unreadable";
    let sum = 0;
    let [seen, waiting] = [0, 0];
    for (const before of this.#terms.before) {
      if (!this.#terms.isTouched(before.uuid)) continue;
      const after = report.value.gpus.find(({ uuid }) => uuid === before.uuid);
      const account = after && accountChange(before, after, (pid) => this.#terms.isJobs(pid));
      const remaining = account && remainingOf(account);
      if (!remaining?.ok) continue;
      seen++;
      sum += remaining.value;
      const isBack = remaining.value <= this.#terms.tolerance && account?.jobRows.size === 0;
      if (!isBack) waiting++;
      this.#follow(before.uuid, { at, remaining: remaining.value }, isBack);
    }
    if (seen === 0) return this.#touchesAny() ? "unreadable" : "settled";
    return waiting === 0 ? "settled" : this.#judgeProgress(at, sum);
  }

  /** When a GPU's memory was first seen back and has stayed so. */
  backAt(uuid: GpuUuid): Milliseconds | undefined {
    return this.#gpus.get(uuid)?.backAt;
  }

  /** How fast a GPU's memory was coming back at the end; `undefined` where it was not. */
  rateOf(uuid: GpuUuid): ReleaseRate | undefined {
    const points = this.#gpus.get(uuid)?.points ?? [];
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last || last.at === first.at) return undefined;
    const freed = first.remaining - last.remaining;
    if (freed <= this.#terms.tolerance) return undefined;
    const over = milliseconds(last.at - first.at);
    return {
      perSecond: bytes(Math.round(freed / over * 1000)),
      over,
      remaining: milliseconds(Math.round(last.remaining / freed * over)),
    };
  }

  #follow(uuid: GpuUuid, point: Point, isBack: boolean): void {
    let gpu = this.#gpus.get(uuid);
    if (!gpu) this.#gpus.set(uuid, gpu = { backAt: undefined, points: [] });
    gpu.backAt = isBack ? gpu.backAt ?? point.at : undefined;
    gpu.points.push(point);
    // One point older than the window stays, so that the window is covered whole.
    while (gpu.points.length > 2 && (gpu.points[1]?.at ?? point.at) <= point.at - RATE_WINDOW) {
      gpu.points.shift();
    }
  }

  #judgeProgress(at: Milliseconds, sum: number): SettleState {
    if (this.#movedAt === undefined || sum < this.#lowest - this.#terms.tolerance) {
      this.#lowest = sum;
      this.#movedAt = at;
    }
    return at - this.#movedAt >= STALL_STRETCH ? "stalled" : "waiting";
  }

  #touchesAny(): boolean {
    return this.#terms.before.some(({ uuid }) => this.#terms.isTouched(uuid));
  }
}
