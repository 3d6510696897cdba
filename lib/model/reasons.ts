/** Missing values in files: null where the value would stand, and its reason beside a JSON Pointer to it. */
import { type Absent, absent, formatAbsent, known, type Reading } from "../core/reading.ts";
import type { ProblemJson } from "./schema/problem.ts";
import type { Problem } from "./snapshot.ts";

/** Writes the values of one object of a document, and collects the reasons of those that are missing. */
export class ReasonWriter {
  readonly #pointer: string;
  readonly #subject: string;
  readonly #written: ProblemJson[];

  /** Starts at the document itself; `subject` is what people call it. */
  constructor(subject: string, pointer = "", written: ProblemJson[] = []) {
    this.#subject = subject;
    this.#pointer = pointer;
    this.#written = written;
  }

  /** The object at a path from this one, such as `gpus/0`. */
  within(path: string, subject: string): ReasonWriter {
    return new ReasonWriter(subject, `${this.#pointer}/${path}`, this.#written);
  }

  /** The value to write under a key: the known one, or null with its reason put on the list. */
  put<T>(reading: Reading<T>, key: string): T | null {
    if (reading.ok) return reading.value;
    this.#written.push({
      at: `${this.#pointer}/${key}`,
      subject: this.#subject,
      why: reading.why,
      detail: reading.detail ?? null,
      message: `${key} of ${this.#subject} is not known: ${formatAbsent(reading)}`,
    });
    return null;
  }

  /** What the document's `problems` say: what concerns more than one value, then the reason of each missing one. */
  problems(problems: readonly Problem[]): ProblemJson[] {
    const own = problems.map(({ subject, reason, message }): ProblemJson => ({
      at: null,
      subject,
      why: reason.why,
      detail: reason.detail ?? null,
      message,
    }));
    return [...own, ...this.#written];
  }
}

/** Reads the values of one object of a document, and gives each null its reason back. */
export class ReasonReader {
  readonly #book: ReasonBook;
  readonly #pointer: string;

  /** Starts at the document itself, whose `problems` are in the book. */
  constructor(book: ReasonBook, pointer = "") {
    this.#book = book;
    this.#pointer = pointer;
  }

  /** The object at a path from this one, such as `gpus/0`. */
  within(path: string): ReasonReader {
    return new ReasonReader(this.#book, `${this.#pointer}/${path}`);
  }

  /** The reading that was written under a key. */
  take<T>(value: T | null, key: string): Reading<T> {
    return value === null ? this.takeReason(key) : known(value);
  }

  /** The reason that stands for a key; `not-reported` where the document gives none. */
  takeReason(key: string): Absent {
    return this.#book.take(`${this.#pointer}/${key}`) ?? absent("not-reported");
  }
}

/** The `problems` of a document, each to be given back once: as the reason of a value, or as what it is. */
export class ReasonBook {
  readonly #problems: readonly ProblemJson[];
  readonly #byPlace: ReadonlyMap<string, ProblemJson>;
  readonly #taken = new Set<ProblemJson>();

  constructor(problems: readonly ProblemJson[]) {
    this.#problems = problems;
    this.#byPlace = new Map(
      problems.flatMap((problem) => problem.at === null ? [] : [[problem.at, problem]]),
    );
  }

  take(pointer: string): Absent | undefined {
    const problem = this.#byPlace.get(pointer);
    if (problem === undefined) return undefined;
    this.#taken.add(problem);
    return reasonOf(problem);
  }

  /** The problems that are no missing value's reason. Complete only when every value has been read. */
  rest(): Problem[] {
    return this.#problems.filter((problem) => !this.#taken.has(problem))
      .map((problem) => ({ subject: problem.subject, reason: reasonOf(problem), message: problem.message }));
  }
}

function reasonOf({ why, detail }: ProblemJson): Absent {
  return absent(why, detail ?? undefined);
}
