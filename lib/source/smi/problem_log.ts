import { type Absent, absent } from "../../core/reading.ts";
import { plural, printable } from "../../core/text.ts";
import type { Problem } from "../../model/snapshot.ts";
import { excerpt } from "./values.ts";

/** More than this tell a person nothing, and a hostile file could have millions. */
const KEPT = 100;

/** Collects what could not be read. Keeps the first hundred and counts the rest, so that none is dropped in silence. */
export class ProblemLog {
  readonly #kept: Problem[] = [];
  #more = 0;

  add(subject: string, reason: Absent, message: string): void {
    if (this.#kept.length < KEPT) this.#kept.push({ subject, reason, message });
    else this.#more++;
  }

  /** Says that a line was not read, with its number and its words. */
  addLine(line: number, text: string, expected: string): void {
    const raw = excerpt(text);
    this.add(
      `line ${line}`,
      absent("implausible", raw),
      `Cannot read line ${line}: expected ${expected}: current value is "${printable(raw)}"`,
    );
  }

  /** Adds what another has collected. */
  addAll(other: ProblemLog): void {
    for (const { subject, reason, message } of other.#kept) this.add(subject, reason, message);
    this.#more += other.#more;
  }

  list(): readonly Problem[] {
    if (this.#more === 0) return this.#kept;
    const message = `${plural(this.#more, "more problem")} of the same text, not listed`;
    return [...this.#kept, { subject: "text", reason: absent("implausible"), message }];
  }
}
