/** A piece of code in a document, with the number of the line it begins on. */
export interface Code {
  readonly line: number;
  readonly text: string;
}

/** What our checks read in a Markdown document. */
export interface Document {
  /** Fenced blocks marked `sh`. */
  readonly scripts: readonly Code[];
  /** Code between single backticks, outside of fenced blocks. */
  readonly inline: readonly Code[];
  /** The rows of the first table under each heading, cells trimmed, without the dashes. */
  readonly tables: ReadonlyMap<string, readonly (readonly string[])[]>;
}

/** Reads the parts of a Markdown document that can be held against the program. */
export function parseMarkdown(text: string): Document {
  const scripts: Code[] = [];
  const inline: Code[] = [];
  const tables = new Map<string, string[][]>();
  let heading = "";
  let isFirstTableOver = false;
  let fence: {
    readonly mark: string;
    readonly language: string;
    readonly line: number;
    readonly body: string[];
  } | undefined;

  for (const [at, content] of text.split("\n").entries()) {
    const line = at + 1;
    const [, mark, language = ""] = /^ {0,3}(`{3,}|~{3,})\s*(\w*)/.exec(content) ?? [];
    if (fence) {
      if (mark === undefined || !mark.startsWith(fence.mark) || language !== "") {
        fence.body.push(content);
        continue;
      }
      if (fence.language === "sh") scripts.push({ line: fence.line + 1, text: fence.body.join("\n") });
      fence = undefined;
      continue;
    }
    if (mark !== undefined) {
      fence = { mark, language, line, body: [] };
      continue;
    }
    const [, title] = /^#{1,6}\s+(.+?)\s*#*$/.exec(content) ?? [];
    if (title !== undefined) {
      heading = title;
      isFirstTableOver = false;
    }
    if (/^\s*\|/.test(content) && !isFirstTableOver) {
      const cells = content.trim().replace(/^\||\|$/g, "").split("|").map((cell) =>
        cell.trim().replaceAll("`", "")
      );
      const isRuler = cells.every((cell) => /^:?-+:?$/.test(cell));
      if (!isRuler) tables.set(heading, [...tables.get(heading) ?? [], cells]);
    } else if (tables.has(heading)) {
      isFirstTableOver = true;
    }
    for (const [, code = ""] of content.matchAll(/(?<!`)`([^`]+)`(?!`)/g)) inline.push({ line, text: code });
  }
  return { scripts, inline, tables };
}
