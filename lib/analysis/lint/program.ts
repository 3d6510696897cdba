/** What a Python program consists of, and what is known of its values without running it. */
import type { SourceText } from "./source_text.ts";
import type { Node } from "./syntax.ts";

/** One part of a module that is parsed by itself: a file, or a cell of a notebook. */
export interface Chunk {
  readonly source: SourceText;
  readonly root: Node;
}

/** One of the given files. */
export interface ModuleInfo {
  readonly path: string;
  readonly chunks: readonly Chunk[];
  readonly isNotebook: boolean;
}

/** A function that one of the files defines. */
export interface FunctionInfo {
  readonly name: string;
  readonly module: ModuleInfo;
  readonly source: SourceText;
  readonly parameters: readonly string[];
  readonly body: Node;
  /** The class it is a method of. */
  readonly owner: ClassInfo | undefined;
  /** The scopes of the functions around it, innermost first. */
  readonly enclosing: readonly Scope[];
}

/** A class that one of the files defines. */
export interface ClassInfo {
  readonly name: string;
  readonly members: Scope;
}

/** What is known of a Python value without running the program. */
export type Value =
  | { readonly kind: "text"; readonly text: string }
  /** A constant of another type, named as Python names it; `truth` is what `if` makes of it. */
  | { readonly kind: "constant"; readonly type: string; readonly truth: boolean; readonly text: string }
  /** Something inside a module that is not among the sources, by its full name: `os.environ`, `torch.cuda`. */
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "module"; readonly module: ModuleInfo }
  | { readonly kind: "function"; readonly fn: FunctionInfo; readonly self?: Value }
  | { readonly kind: "class"; readonly cls: ClassInfo }
  | { readonly kind: "instance"; readonly cls: ClassInfo }
  /** torch.device(...) of which the type is known. */
  | { readonly kind: "device"; readonly isCuda: boolean }
  | { readonly kind: "list"; readonly items: readonly Value[] }
  /** A mapping; not `isWhole` when it has keys that are not known. */
  | { readonly kind: "mapping"; readonly entries: readonly MappingEntry[]; readonly isWhole: boolean }
  | { readonly kind: "unknown" };

/** One entry of a mapping whose key is known. */
export interface MappingEntry {
  readonly key: string;
  readonly value: Value;
}

/** A value of which nothing is known. */
export const UNKNOWN: Value = { kind: "unknown" };

/** The names of one module, class body or function call. */
export type Scope = Map<string, Value>;

/** Whether two values are known to be the same. */
export function isSame(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (a.kind === "text" && b.kind === "text") return a.text === b.text;
  if (a.kind === "name" && b.kind === "name") return a.name === b.name;
  if (a.kind === "constant" && b.kind === "constant") return a.text === b.text && a.type === b.type;
  if (a.kind === "function" && b.kind === "function") return a.fn === b.fn;
  if (a.kind === "module" && b.kind === "module") return a.module === b.module;
  return a.kind === "class" && b.kind === "class" && a.cls === b.cls;
}

/** Whether a value leads to code or to a module: worth keeping when a branch may or may not overwrite it. */
export function isPointer({ kind }: Value): boolean {
  return kind === "name" || kind === "module" || kind === "function" || kind === "class";
}
