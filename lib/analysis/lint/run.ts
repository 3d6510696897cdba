import type { Finding, Place } from "./finding.ts";
import type { FindingBook } from "./findings.ts";
import type { Frame } from "./frame.ts";
import type { ModuleTable } from "./modules.ts";
import type { FunctionInfo, ModuleInfo, Scope } from "./program.ts";
import type { SourceText } from "./source_text.ts";
import { addPath, type Happened, joinStates, NOTHING_YET, type State, type Step } from "./state.ts";
import { type Node, textOf } from "./syntax.ts";

/** Nodes that are looked at before a program counts as too large to be followed. A file of 1 MiB has up to 500,000. */
const MOST_NODES = 2_000_000;
/** Longer statements are cut where they are quoted. */
const QUOTED_LINES = 4;

/** One pass through a program, from the file that a person runs: what has happened so far, and what was found. */
export class Run {
  readonly program: ModuleInfo;
  readonly modules: ModuleTable;
  /** The scopes of the modules that have run or are running. */
  readonly scopes = new Map<ModuleInfo, Scope>();
  /** What had happened once a module was loaded. */
  readonly loaded = new Map<ModuleInfo, State>();
  readonly functions = new Map<string, FunctionInfo>();
  readonly called = new Set<string>();
  /** The statement by which each file imports `os`. */
  readonly osImports = new Map<ModuleInfo, string>();
  state: State = NOTHING_YET;
  readonly #book: FindingBook;
  #statement: { readonly node: Node; readonly source: SourceText } | undefined;
  #nodes = 0;
  #isSpent = false;

  constructor(program: ModuleInfo, modules: ModuleTable, book: FindingBook) {
    this.program = program;
    this.modules = modules;
    this.#book = book;
  }

  find(finding: Omit<Finding, "related" | "correctedOrder">): void {
    this.#book.add({ ...finding, related: [], correctedOrder: [] });
  }

  add(finding: Finding): void {
    this.#book.add(finding);
  }

  /** Runs `body` as part of this statement, which is then what findings quote. */
  inStatement(node: Node, source: SourceText, body: () => void): void {
    const before = this.#statement;
    this.#statement = { node, source };
    body();
    this.#statement = before;
  }

  /** A node, quoted with the statement it is part of. */
  stepAt(node: Node, source: SourceText): Step {
    const { node: statement, source: text } = this.#statement ?? { node, source };
    return { place: source.placeAt(node.from), statement: quote(textOf(statement, text)) };
  }

  /** Something that happens at this node. */
  happened(node: Node, frame: Frame, what: string, isCertain = true): Happened {
    const { source, importedAt } = frame.settings;
    return { what, at: this.stepAt(node, source), importedAt, isCertain };
  }

  /** Takes each of several paths from here. With `orNone` it may be that none is taken. */
  paths(bodies: readonly (() => void)[], { orNone }: { readonly orNone: boolean }): void {
    const before = this.state;
    const ends = bodies.map((body) => {
      this.state = before;
      body();
      return this.state;
    });
    this.state = joinStates(orNone ? [...ends, before] : ends);
  }

  /** Takes a path that few take: what is sure without it stays sure. */
  sidePath(from: State, body: () => void): void {
    const main = this.state;
    this.state = joinStates([from, main]);
    body();
    this.state = addPath(main, this.state);
  }

  /** Counts a node. Says `true` for ever once there were too many, or one is nested too deep, and tells so once. */
  isSpent(place: () => Place, depth = 0): boolean {
    this.#nodes++;
    if (this.#isSpent || this.#nodes <= MOST_NODES && depth < Infinity) return this.#isSpent;
    this.#isSpent = this.#nodes > MOST_NODES;
    this.find({
      rule: "not-followed",
      severity: "note",
      isDecided: false,
      place: place(),
      message: this.#isSpent
        ? "The program is too large to be followed further; what comes after this was not checked"
        : "The expression is nested too deep to be followed; what happens in it was not checked",
      fix: "Check the parts by themselves, or start the program with CUDA_VISIBLE_DEVICES already set",
    });
    return this.#isSpent;
  }
}

function quote(statement: string): string {
  const lines = statement.trimEnd().split(/\r\n|\r|\n/);
  return lines.length <= QUOTED_LINES
    ? lines.join("\n")
    : [...lines.slice(0, QUOTED_LINES - 1), "..."].join("\n");
}
