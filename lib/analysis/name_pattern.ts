/** A name as people write it in rules: `*` stands for any text, everything else for itself. */
export interface NamePattern {
  readonly text: string;
  fits(name: string): boolean;
}

/** Makes a pattern of a name. */
export function namePattern(text: string): NamePattern {
  const [first = "", ...others] = text.split("*");
  return {
    text,
    fits: (name) => others.length === 0 ? name === text : fitsPieces(name, [first, ...others]),
  };
}

/** Whether a name has the pieces in their order, the first at its beginning and the last at its end. */
function fitsPieces(name: string, pieces: readonly string[]): boolean {
  const first = pieces[0] ?? "";
  const last = pieces.at(-1) ?? "";
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= name.length - last.length;
}
