/** Takes a statement out of a source without moving any other character. */
import { isBlank, isLineEnd } from "./characters.ts";

/**
 * Puts nothing, or an expression or a condition that does nothing, in place of the statement around an offset: whatever
 * keeps the blocks around it whole. `starts` are the offsets at which statements may begin.
 */
export function withoutStatement(text: string, offset: number, starts: readonly number[]): string {
  const lines = starts.map((start, at) => ({ start, end: starts[at + 1] ?? text.length }))
    .filter(({ start, end }) => isCode(text.slice(start, end)));
  const broken = lines.findLastIndex(({ start }) => start <= offset);
  const line = lines[broken];
  if (line === undefined) return text;
  const before = lines[broken - 1];
  const isAtStart = offset <= line.start + indentOf(text, line.start);
  // A header without a body shows at what follows it.
  const isBodyMissing = isAtStart && before !== undefined &&
    text.slice(before.start, before.end).trimEnd().endsWith(":");
  if (isBodyMissing) return remove(text, before, "");
  const after = lines[broken + 1];
  const hasBody = after !== undefined && indentOf(text, after.start) > indentOf(text, line.start);
  return remove(text, line, isAtStart ? "" : hasBody ? "if _:" : "0");
}

function remove(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  stand: string,
): string {
  const indent = indentOf(text, start);
  let removed = "";
  let isLineStart = true;
  for (const character of text.slice(start + indent, end)) {
    removed += isLineEnd(character) ? character : isLineStart ? "#" : " ".repeat(character.length);
    isLineStart = isLineEnd(character);
  }
  const fits = removed.length >= stand.length + 1 && !removed.slice(0, stand.length).includes("\n");
  const put = stand !== "" && fits ? `${stand}${removed.slice(stand.length)}` : removed;
  return text.slice(0, start + indent) + put + text.slice(end);
}

function isCode(line: string): boolean {
  const code = line.trim();
  return code !== "" && !code.startsWith("#");
}

function indentOf(text: string, start: number): number {
  let at = start;
  while (isBlank(text[at] ?? "")) at++;
  return at - start;
}
