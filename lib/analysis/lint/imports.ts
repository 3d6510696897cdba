import type { SourceText } from "./source_text.ts";
import { childrenOf, type Node, textOf } from "./syntax.ts";

/** One name that an import statement binds. */
export interface ImportedName {
  /** The name inside the module; `undefined` for the module itself. */
  readonly member: string | undefined;
  readonly boundAs: string;
}

/** One module that a statement imports. */
export interface Import {
  /** Dotted, without the leading dots of a relative import; may then be empty. */
  readonly module: string;
  /** How many dots stood in front. */
  readonly level: number;
  readonly names: readonly ImportedName[];
  readonly isStar: boolean;
}

/** Reads an import statement. `import a.b` binds `a`; `import a.b as c` binds the module itself. */
export function readImports(statement: Node, source: SourceText): readonly Import[] {
  const words = childrenOf(statement).filter(({ type }) => !type.isError)
    .map((child) => textOf(child, source)).filter((word) => word !== "(" && word !== ")");
  return words[0] === "from" ? readFrom(words) : readPlain(words);
}

/** The file-independent parts of a dotted module name, from the package down: `a`, `a.b`, `a.b.c`. */
export function modulePrefixes(name: string): readonly string[] {
  const parts = name.split(".");
  return parts.map((_, at) => parts.slice(0, at + 1).join("."));
}

function readPlain(words: readonly string[]): readonly Import[] {
  return splitAt(words.slice(1), ",").flatMap((group) => {
    const as = group.indexOf("as");
    const module = group.slice(0, as < 0 ? undefined : as).join("");
    const alias = as < 0 ? undefined : group[as + 1];
    if (module === "") return [];
    const boundAs = alias ?? module.split(".")[0] ?? module;
    return [{ module, level: 0, names: [{ member: undefined, boundAs }], isStar: false }];
  });
}

function readFrom(words: readonly string[]): readonly Import[] {
  const at = words.indexOf("import");
  if (at < 0) return [];
  const path = words.slice(1, at).join("");
  const level = [...path].findIndex((character) => character !== ".");
  const dots = level < 0 ? path.length : level;
  const groups = splitAt(words.slice(at + 1), ",");
  const names = groups.flatMap((group): readonly ImportedName[] => {
    const [member, as, alias] = group;
    if (member === undefined || member === "*") return [];
    return [{ member, boundAs: as === "as" && alias !== undefined ? alias : member }];
  });
  return [{ module: path.slice(dots), level: dots, names, isStar: groups.some(([word]) => word === "*") }];
}

function splitAt(words: readonly string[], mark: string): readonly (readonly string[])[] {
  const groups: string[][] = [[]];
  for (const word of words) {
    if (word === mark) groups.push([]);
    else groups.at(-1)?.push(word);
  }
  return groups.filter((group) => group.length > 0);
}
