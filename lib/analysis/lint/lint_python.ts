/** Finds in Python sources why a program may see other GPUs than CUDA_VISIBLE_DEVICES says. */
import { messageOf } from "../../core/errors.ts";
import type { Finding } from "./finding.ts";
import { FindingBook } from "./findings.ts";
import { Interpreter } from "./interpreter.ts";
import { ModuleTable } from "./modules.ts";
import { type NotebookCell, parseNotebook } from "./notebook.ts";
import type { Chunk, ModuleInfo } from "./program.ts";
import { REMARKS } from "./remarks.ts";
import { Run } from "./run.ts";
import { SourceText } from "./source_text.ts";
import { readPython } from "./tolerant_parser.ts";

/**
 * Checks programs given as sources by their paths; `.ipynb` files are notebooks. Files that import each other are
 * followed as one program from the file that no other imports. The sources are read and never run.
 *
 * No finding at all means: nothing in these sources makes the variable void. It says nothing of modules that are not
 * among them, which is why those that come before a setting are named in a finding of their own.
 */
export function lintPython(files: ReadonlyMap<string, string>): readonly Finding[] {
  const book = new FindingBook();
  const modules = [...files].map(([path, text]) => readModule(path, text, book));
  const table = new ModuleTable(modules);
  const seen = new Set<ModuleInfo>();
  for (const program of [...table.entries(), ...modules]) {
    if (seen.has(program)) continue;
    const run = new Run(program, table, book);
    new Interpreter(run).runProgram();
    for (const module of run.scopes.keys()) seen.add(module);
  }
  return book.inOrder([...files.keys()]);
}

function readModule(path: string, text: string, book: FindingBook): ModuleInfo {
  const isNotebook = path.endsWith(".ipynb");
  const chunks = isNotebook
    ? readCells(path, text, book)
    : [readChunk(text, new SourceText(path, text), book)];
  return { path, chunks, isNotebook };
}

function readCells(path: string, text: string, book: FindingBook): readonly Chunk[] {
  let cells: readonly NotebookCell[];
  try {
    cells = parseNotebook(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    book.add(unreadable({ path, line: 1, column: 1 }, `The notebook could not be read: ${messageOf(error)}`));
    return [];
  }
  return cells.map((cell) => readChunk(cell.source, new SourceText(path, cell.original, cell), book));
}

function readChunk(python: string, source: SourceText, book: FindingBook): Chunk {
  const { root, execOffsets, broken } = readPython(python);
  if (broken) {
    const place = source.placeAt(broken.offset);
    const why = broken.why === undefined ? "" : `: ${broken.why}`;
    book.add(unreadable(place, `The source could not be read from line ${place.line} on${why}`));
  }
  for (const offset of execOffsets) {
    book.add({ ...REMARKS.code, place: source.placeAt(offset), related: [], correctedOrder: [] });
  }
  return { source, root };
}

function unreadable(place: Finding["place"], message: string): Finding {
  return {
    rule: "unreadable",
    severity: "error",
    isDecided: false,
    place,
    message: `${message}; what could be read was checked, which is no all-clear`,
    fix: "See whether Python itself takes it: python -m py_compile",
    related: [],
    correctedOrder: [],
  };
}
