/** Text fitted to a terminal: measured as it is shown, not as it is counted. */
import stringWidth from "fast-string-width";

/** Characters of one column each. */
const ASCII = /^[\x20-\x7e]*$/;

/** Columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** Cuts to at most `width` columns, the last of which is an ellipsis if anything was cut. */
export function fit(text: string, width: number): string {
  if (width < 1) return "";
  // Arguments may be megabytes long, and what lies this far behind the cut does not matter.
  const near = text.slice(0, 4 * width);
  if (near.length === text.length && widthOf(text) <= width) return text;
  const characters = Array.from(near).slice(0, width - 1);
  while (widthOf(characters.join("")) > width - 1) characters.pop();
  return `${characters.join("")}…`;
}

/** The blanks that a text lacks to be `width` columns wide. */
export function blanksFor(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - widthOf(text)));
}

/** Where a paragraph goes: how wide, and what stands before its first line; the others are indented as far. */
export interface Paragraph {
  /** Columns of the terminal; without it nothing is broken. */
  readonly width: number | undefined;
  readonly label: string;
}

/**
 * Breaks a sentence into lines at blanks, of which several count as one. A word that is wider than the line stays whole:
 * it may be a command.
 */
export function wrap(text: string, { width, label }: Paragraph): string[] {
  const [first = "", ...words] = text.split(" ").filter((word) => word !== "");
  const indent = " ".repeat(widthOf(label));
  const lines: string[] = [];
  let line = label + first;
  for (const word of words) {
    if (width !== undefined && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = indent + word;
    } else {
      line += ` ${word}`;
    }
  }
  return [...lines, line.trimEnd()];
}
