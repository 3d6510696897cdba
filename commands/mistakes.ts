/** What is wrong in a file that a person wrote: all of it at once, each with its place. */
import { GpuctlError } from "../lib/core/errors.ts";
import { plural, printable } from "../lib/core/text.ts";
import type { TextPlace } from "../lib/model/toml_places.ts";

/** Something in a file that makes no sense. */
export interface Mistake {
  readonly place: TextPlace;
  readonly message: string;
  readonly hint?: string;
}

/**
 * Refuses a file with mistakes.
 *
 * @throws {GpuctlError} `usage` with every one of them, in the order of the file
 */
export function refuseMistakes(path: string, mistakes: readonly Mistake[]): void {
  const sorted = mistakes.toSorted(({ place: a }, { place: b }) => a.line - b.line || a.column - b.column);
  const [first, ...others] = sorted;
  if (first === undefined) return;
  const locate = ({ place: { line, column }, message }: Mistake) =>
    `${printable(path)}:${line}:${column}: ${message}`;
  if (others.length === 0) {
    throw new GpuctlError(
      "usage",
      `Cannot use ${locate(first)}`,
      first.hint === undefined ? {} : { hint: first.hint },
    );
  }
  const lines = sorted.map((mistake) =>
    mistake.hint === undefined ? locate(mistake) : `${locate(mistake)} (${mistake.hint})`
  );
  throw new GpuctlError(
    "usage",
    `Cannot use ${printable(path)}: there are ${plural(sorted.length, "mistake")}\n${lines.join("\n")}`,
  );
}
