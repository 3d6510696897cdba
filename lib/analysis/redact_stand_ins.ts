/** Stand-ins for what must not be told. They count, and are no digests: nobody can try names until one fits. */

/** How the n-th stand-in of a kind is written: `user-1`. */
export type StandInForm = (kind: string, number: number) => string;

/** Gives every text one stand-in, numbered by first appearance within its kind. The kind of the first appearance stays. */
export class StandIns {
  readonly #form: StandInForm;
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(form: StandInForm = (kind, number) => `${kind}-${number}`) {
    this.#form = form;
  }

  /** The stand-in that a text has already. */
  find(text: string): string | undefined {
    return this.#known.get(text);
  }

  /** Its stand-in; a new one of this kind where it has none. */
  of(text: string, kind: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const number = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, number);
    const standIn = this.#form(kind, number);
    this.#known.set(text, standIn);
    return standIn;
  }

  /** Lets a second text have the stand-in of a first one, unless it has its own. */
  alias(text: string, standIn: string): void {
    if (!this.#known.has(text)) this.#known.set(text, standIn);
  }
}
