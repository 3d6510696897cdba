/** Turns what is so at each moment into what is told: once when it begins, once when it is over. */
import { type Milliseconds, milliseconds } from "../../core/units.ts";
import type { Alert, Condition, WatchEvent } from "../../model/watch.ts";

/** Everything that is so at one moment. */
export interface BookTick {
  /** A monotonic moment. */
  readonly at: Milliseconds;
  /** The same moment by the wall clock. */
  readonly now: string;
  readonly conditions: readonly Condition[];
  /** Whether this moment's looks could have shown a condition. What cannot be seen is not over. */
  readonly canSee: (condition: Condition) => boolean;
}

interface Entry {
  readonly condition: Condition;
  /** When it began, monotonic: it may lie before the watch itself. */
  readonly beganAt: number;
  readonly since: string;
  readonly isRaised: boolean;
  /** Whether anybody was told: what comes and goes is not told each time. */
  readonly isTold: boolean;
}

/** Keeps what stands. Grows with what is so now, never with time. */
export class AlertBook {
  readonly #oncePer: Milliseconds;
  readonly #entries = new Map<string, Entry>();
  readonly #toldAt = new Map<string, number>();

  /** @param oncePer a condition that is over and comes back within this span is not told again. */
  constructor(oncePer: Milliseconds) {
    this.#oncePer = oncePer;
  }

  /** The alerts that stand, in the order in which they began. */
  get standing(): readonly Alert[] {
    return [...this.#entries.values()].filter(({ isRaised }) => isRaised).sort((a, b) =>
      a.beganAt - b.beganAt
    ).map(alertOf);
  }

  /** Takes a moment in and gives what is to be told. */
  update(tick: BookTick): WatchEvent[] {
    const present = new Set(tick.conditions.map(({ key }) => key));
    const events = [...this.#entries].filter(([key]) => !present.has(key))
      .flatMap(([key, entry]) => this.#miss(key, entry, tick));
    for (const condition of tick.conditions) events.push(...this.#meet(condition, tick));
    for (const [key, at] of this.#toldAt) {
      if (tick.at - at >= this.#oncePer && !this.#entries.has(key)) this.#toldAt.delete(key);
    }
    return events;
  }

  #meet(condition: Condition, { at, now }: BookTick): WatchEvent[] {
    const { key, isOver, after, already } = condition;
    const before = this.#entries.get(key);
    if (!isOver && !before?.isRaised) {
      this.#entries.delete(key);
      return [];
    }
    const began = before ?? { beganAt: at - already, since: earlier(now, already) };
    const isRaised = before?.isRaised === true || at - began.beganAt >= after;
    const isNew = isRaised && before?.isRaised !== true;
    const isTold = isNew ? !this.#wasToldLately(key, at) : before?.isTold === true;
    const entry: Entry = { condition, beganAt: began.beganAt, since: began.since, isRaised, isTold };
    this.#entries.set(key, entry);
    if (!isNew || !isTold) return [];
    this.#toldAt.set(key, at);
    return [{ event: "alert", at: now, alert: alertOf(entry) }];
  }

  #miss(key: string, entry: Entry, { at, now, canSee }: BookTick): WatchEvent[] {
    // What was not seen all the time has not lasted all the time.
    if (entry.isRaised && !canSee(entry.condition)) return [];
    this.#entries.delete(key);
    if (!entry.isTold) return [];
    return [{ event: "cleared", at: now, alert: alertOf(entry), lasted: milliseconds(at - entry.beganAt) }];
  }

  #wasToldLately(key: string, at: number): boolean {
    const told = this.#toldAt.get(key);
    return told !== undefined && at - told < this.#oncePer;
  }
}

function alertOf({ condition, since }: Entry): Alert {
  return { ...condition, since };
}

function earlier(now: string, span: Milliseconds): string {
  return new Date(Date.parse(now) - span).toISOString();
}
