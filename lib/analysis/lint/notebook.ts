/** Reads Jupyter notebooks (nbformat 4): their code cells in order, with what is IPython's and not Python's taken out. */

/** Cell magics behind which the other lines are Python all the same. */
const PYTHON_MAGICS: ReadonlySet<string> = new Set([
  "capture",
  "time",
  "timeit",
  "prun",
  "python",
  "python3",
]);

/** A line that IPython carries out by itself and that may change the environment or run code. */
export type Magic =
  | { readonly kind: "env"; readonly variable: string; readonly value: string }
  | { readonly kind: "shell"; readonly command: string }
  | { readonly kind: "run" };

/** One code cell. In `source`, which Python can read, every character stands where it stands in the original. */
export interface NotebookCell {
  /** Counted from 1 among the code cells. */
  readonly number: number;
  /** As it stands in the notebook. */
  readonly original: string;
  readonly source: string;
  /** What stood in place of the statement that begins at an offset. */
  readonly magics: ReadonlyMap<number, Magic>;
}

/**
 * The code cells of a notebook.
 *
 * @throws {SyntaxError} if the text is no notebook of format 4 for Python.
 */
export function parseNotebook(json: string): readonly NotebookCell[] {
  const notebook: unknown = JSON.parse(json.startsWith("\uFEFF") ? json.slice(1) : json);
  const cells = propertyOf(notebook, "cells");
  if (!Array.isArray(cells)) throw new SyntaxError("Cannot read the notebook: it has no list of cells");
  const kernel = propertyOf(propertyOf(notebook, "metadata"), "kernelspec");
  const language = propertyOf(kernel, "language");
  if (typeof language === "string" && language !== "python") {
    throw new SyntaxError(`Cannot read the notebook: its language is ${language}`);
  }
  return cells.filter((cell: unknown) => propertyOf(cell, "cell_type") === "code")
    .map((cell: unknown, at: number) => {
      const original = sourceOf(cell);
      return { number: at + 1, original, ...withoutMagics(original) };
    });
}

/** Puts Python that does nothing in place of IPython's own lines: `%magic`, `!command`, `help?`, `files = !ls`. */
export function withoutMagics(source: string): Pick<NotebookCell, "source" | "magics"> {
  const magics = new Map<number, Magic>();
  const lines = source.split("\n");
  const [first = ""] = lines.filter((line) => line.trim() !== "");
  const [cellMagic = ""] = first.startsWith("%%") ? first.slice(2).trim().split(" ") : [];
  const isPython = !first.startsWith("%%") || PYTHON_MAGICS.has(cellMagic);
  let offset = 0;
  const python = lines.map((line) => {
    const start = isPython ? magicStart(line) : 0;
    if (start !== undefined && isPython) note(magics, line.slice(start).trim(), offset + start);
    offset += line.length + 1;
    return start === undefined ? line : disable(line, start);
  });
  return { source: python.join("\n"), magics };
}

/** Where IPython's part of a line begins. */
function magicStart(line: string): number | undefined {
  const code = line.trim();
  const indent = line.length - line.trimStart().length;
  if (code.startsWith("%") || code.startsWith("!") || code.startsWith("?")) return indent;
  if (code.endsWith("?") && !code.includes("#") && !code.includes('"') && !code.includes("'")) return indent;
  const sign = line.indexOf("=");
  const value = line.slice(sign + 1).trimStart();
  const isCommand = sign > 0 && (value.startsWith("!") || value.startsWith("%"));
  return isCommand && isTargetList(line.slice(0, sign)) ? line.length - value.length : undefined;
}

function isTargetList(text: string): boolean {
  return text.split(",").every((name) =>
    name.trim() !== "" && !"!%<>=+-*/&|^:([{\"'#".includes(name.trim().slice(-1))
  );
}

/** `%env A=1` becomes `0#nv A=1`: an expression and a comment, as long as before. */
function disable(line: string, start: number): string {
  const end = line.endsWith("\r") ? line.length - 1 : line.length;
  if (start >= end) return line;
  return `${line.slice(0, start)}${end - start > 1 ? "0#" : "0"}${line.slice(start + 2, end)}${
    line.slice(end)
  }`;
}

function note(magics: Map<number, Magic>, text: string, offset: number): void {
  if (text.startsWith("!")) magics.set(offset, { kind: "shell", command: text.slice(1).trim() });
  if (!text.startsWith("%")) return;
  const [name = "", ...words] = text.slice(1).split(" ").filter((word) => word !== "");
  if (name === "run") magics.set(offset, { kind: "run" });
  if (name !== "env" && name !== "set_env") return;
  const rest = words.join(" ");
  // `%env NAME` alone only shows the variable.
  const sign = rest.indexOf("=");
  const split = sign >= 0 ? sign : rest.indexOf(" ");
  if (split <= 0) return;
  magics.set(offset, {
    kind: "env",
    variable: rest.slice(0, split).trim(),
    value: rest.slice(split + 1).trim(),
  });
}

function sourceOf(cell: unknown): string {
  const source = propertyOf(cell, "source");
  if (typeof source === "string") return source;
  return Array.isArray(source) ? source.filter((line) => typeof line === "string").join("") : "";
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
