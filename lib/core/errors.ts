/** Exit statuses, by name. `mod.ts` alone turns a name into its number. */
export const EXIT = {
  ok: 0,
  bug: 1,
  usage: 2,
  unavailable: 3,
  denied: 4,
  refused: 5,
  partial: 6,
  finding: 10,
} as const;

/** How a command ended: a name from the table, or a number where the child's own status is the answer. */
export type Ending = keyof typeof EXIT | { readonly status: number };

/** Failures that we foresaw. A bug is anything else that is thrown. */
export type Failure = "usage" | "unavailable" | "denied" | "refused" | "partial";

/** A failure we foresaw, with the sentence for the person and one thing to try. Caught only by `main`. */
export class GpuctlError extends Error {
  override readonly name = "GpuctlError";
  readonly failure: Failure;
  readonly hint: string | undefined;
  /** The exit status where another table than ours applies: that of programs which run a command. */
  readonly status: number | undefined;

  constructor(
    failure: Failure,
    message: string,
    options: { readonly hint?: string; readonly cause?: unknown; readonly status?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.failure = failure;
    this.hint = options.hint;
    this.status = options.status;
  }
}

/** Thrown through everything when the reader of our output has gone: it has read all it wanted, and that is no failure. */
export class ClosedPipe extends Error {
  override readonly name = "ClosedPipe";
}

/** Worst first. A proven finding outweighs what could not be read; a refusal and a partial act outweigh both. */
const WORST_FIRST = ["bug", "usage", "denied", "refused", "partial", "finding", "unavailable", "ok"] as const;

/** Sums endings up. With none at all nothing was proven, so the answer is not `ok`. */
export function worstEnding(endings: Iterable<keyof typeof EXIT>): keyof typeof EXIT {
  const seen = new Set(endings);
  return WORST_FIRST.find((ending) => seen.has(ending)) ?? "unavailable";
}

/** The words of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The errno name of a system call's error (`ENOENT`), if it has one. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
