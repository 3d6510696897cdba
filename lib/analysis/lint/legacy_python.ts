/**
 * Rewrites what the parser's grammar lacks, one character for one, so that every offset stays true: Python 2 (print and
 * exec statements, `10L`, backquotes, ur"") and a few corners of Python 3 (`4.`, a bare `yield`, targets of `with`, stars
 * in targets of `for`, `case A():`, form feeds, the byte order mark). It is a lexer, so that strings and comments are left alone.
 */

import { isBlank, isDigit, isLineEnd, isWordCharacter } from "./characters.ts";

/** The most brackets that CPython lets one open inside another (MAXLEVEL of its tokenizer). */
const DEEPEST_BRACKETS = 200;
const STRING_PREFIXES = new Set([
  "r",
  "u",
  "b",
  "f",
  "t",
  "br",
  "rb",
  "fr",
  "rf",
  "tr",
  "rt",
  "ur",
]);
/** Words that continue an expression, so that a `print` or `exec` in front of them is a name. */
const OPERATOR_WORDS = new Set(["if", "else", "in", "is", "and", "or", "for", "not"]);

/** The rewritten text, and what it hides. */
export interface Rewritten {
  readonly text: string;
  readonly execOffsets: readonly number[];
  readonly lines: readonly LogicalLine[];
  /** Why Python itself would refuse the text, if that shows before parsing. */
  readonly refusal: { readonly offset: number; readonly why: string } | undefined;
}

/** A line as Python counts them: brackets, long strings and backslashes make several lines one. */
export interface LogicalLine {
  readonly start: number;
  /** Whether the code before it ends with a colon, so that it begins a block. */
  readonly isAfterColon: boolean;
}

/** Rewrites a source for the parser. Total, in linear time, and of the same length. */
export function legacyEdits(source: string): Rewritten {
  return new Rewriter(source).run();
}

class Rewriter {
  readonly #source: string;
  readonly #pieces: string[] = [];
  readonly #execOffsets: number[] = [];
  readonly #lines: LogicalLine[] = [{ start: 0, isAfterColon: false }];
  #refusal: Rewritten["refusal"];
  /** Everything before it stands in `#pieces`. */
  #copied = 0;
  #at = 0;
  /** Where the brackets stand that are open here. */
  readonly #open: number[] = [];
  #isStatementStart = true;
  /** What kind of header the characters belong to, where the grammar lacks something in it. */
  #header: "with" | "for" | "case" | undefined;
  #isInBackquotes = false;
  /** Whether the last thing that is neither blank nor comment is a colon outside brackets. */
  #isAfterColon = false;

  constructor(source: string) {
    this.#source = source;
  }

  run(): Rewritten {
    if (this.#source.startsWith("\uFEFF")) this.#replace(0, "\n");
    this.#at = this.#copied;
    this.#startLine();
    while (this.#at < this.#source.length) this.#step();
    const [unclosed] = this.#open;
    if (unclosed !== undefined) this.#refuse(unclosed, "a bracket is opened there and never closed");
    this.#pieces.push(this.#source.slice(this.#copied));
    return {
      text: this.#pieces.join(""),
      execOffsets: this.#execOffsets,
      lines: this.#lines,
      refusal: this.#refusal,
    };
  }

  #step(): void {
    const character = this.#source[this.#at] ?? "";
    if (isLineEnd(character)) return this.#endLine();
    if (character === "#") return this.#skipWhile((next) => !isLineEnd(next));
    if (!isBlank(character)) this.#isAfterColon = character === ":" && this.#open.length === 0;
    if (character === '"' || character === "'") return this.#skipString();
    if (isDigit(character)) return this.#number();
    if (isWordCharacter(character)) return this.#word();
    this.#at++;
    switch (character) {
      case "\\":
        if (this.#source[this.#at] === "\r" && this.#source[this.#at + 1] === "\n") this.#at++;
        this.#at++;
        return;
      case "(":
      case "[":
      case "{":
        return this.#openBracket(this.#at - 1);
      case ")":
      case "]":
      case "}":
        if (this.#header === "case") this.#closeEmpty(this.#open.at(-1));
        this.#open.pop();
        return;
      case "`":
        return this.#backquote(this.#at - 1);
      case ";":
      case ":":
        if (this.#open.length > 0) return;
        this.#isStatementStart = true;
        this.#header = undefined;
        return;
      case "*":
        if (this.#header === "for") this.#replace(this.#at - 1, " ");
        break;
      case "\0":
        this.#refuse(this.#at - 1, "it has a null byte");
        return;
    }
    if (isBlank(character)) return;
    this.#isStatementStart = false;
  }

  #openBracket(offset: number): void {
    this.#open.push(offset);
    this.#isStatementStart = false;
    if (this.#open.length > DEEPEST_BRACKETS) this.#refuse(offset, "too many brackets are open");
  }

  #backquote(offset: number): void {
    const end = this.#source.indexOf("`", this.#at);
    const line = this.#source.indexOf("\n", this.#at);
    if (this.#isInBackquotes) this.#replace(offset, ")");
    // One alone is an error that the parser shall see.
    else if (end < 0 || line >= 0 && line < end) return;
    else this.#replace(offset, "(");
    this.#isInBackquotes = !this.#isInBackquotes;
  }

  /** The pattern `case A():` has brackets that the grammar wants filled. */
  #closeEmpty(open: number | undefined): void {
    if (open === undefined || open !== this.#at - 2 || open < this.#copied) return;
    this.#replace(open, "  ");
  }

  #endLine(): void {
    this.#at += this.#source.startsWith("\r\n", this.#at) ? 2 : 1;
    if (this.#open.length === 0) {
      this.#isStatementStart = true;
      this.#header = undefined;
      this.#lines.push({ start: this.#at, isAfterColon: this.#isAfterColon });
    }
    this.#startLine();
  }

  /** Python starts the indentation anew behind a form feed; the parser does so behind a line end. */
  #startLine(): void {
    for (; this.#at < this.#source.length; this.#at++) {
      const character = this.#source[this.#at];
      if (character === "\f") this.#replace(this.#at, "\n");
      else if (character !== " " && character !== "\t") return;
    }
  }

  #number(): void {
    this.#isStatementStart = false;
    this.#skipWhile(isWordCharacter);
    if (this.#source[this.#at] === ".") {
      if (!isDigit(this.#source[this.#at + 1] ?? "")) this.#replace(this.#at, "0");
      this.#at++;
      this.#skipWhile(isWordCharacter);
    }
    const last = this.#source[this.#at - 1];
    if (last === "L" || last === "l") this.#replace(this.#at - 1, "0");
  }

  #word(): void {
    const start = this.#at;
    this.#skipWhile(isWordCharacter);
    const word = this.#source.slice(start, this.#at);
    const next = this.#source[this.#at];
    if ((next === '"' || next === "'") && STRING_PREFIXES.has(word.toLowerCase())) {
      if (word.toLowerCase() === "ur") this.#replace(start, "b");
      const template = word.toLowerCase().indexOf("t");
      if (template >= 0) this.#replace(start + template, "f");
      return this.#skipString();
    }
    const isFirst = this.#isStatementStart && this.#open.length === 0;
    this.#isStatementStart = isFirst && word === "async";
    if (word === "yield" && this.#endsHere()) this.#replace(start, "None ");
    else if (word === "as" && this.#header === "with") this.#replace(start, ", ");
    else if (isFirst && word === "with") this.#header = "with";
    else if (isFirst && word === "case" && this.#hasOperand()) this.#header = "case";
    else if (word === "for") this.#header = "for";
    else if (word === "in" && this.#header === "for") this.#header = undefined;
    else if (isFirst && word === "print") this.#print(start);
    else if (isFirst && word === "exec" && this.#hasOperand()) {
      this.#execOffsets.push(start);
      this.#replace(start, "_  =");
    }
  }

  /** `print a, b` becomes `_   = a, b`, and `print >>f, a` becomes `_   =   f, a`. */
  #print(start: number): void {
    const next = this.#nextVisible();
    if (this.#source.startsWith(">>", next)) {
      this.#replace(start, "_   =");
      this.#replace(next, "  ");
      this.#at = next + 2;
    } else if (this.#hasOperand()) this.#replace(start, "_   =");
    else if (this.#source[next] !== "(" && this.#source[next] !== ".") this.#replace(start, "prin_");
  }

  /** Whether what follows can only be the operand of a statement. */
  #hasOperand(): boolean {
    const next = this.#nextVisible();
    const character = this.#source[next] ?? "";
    if ("\"'`{~".includes(character) && character !== "") return true;
    if (!isWordCharacter(character)) return false;
    let end = next;
    while (isWordCharacter(this.#source[end] ?? "")) end++;
    return !OPERATOR_WORDS.has(this.#source.slice(next, end));
  }

  #endsHere(): boolean {
    const character = this.#source[this.#nextVisible()];
    return character === undefined || isLineEnd(character) || ")]},;#:=".includes(character);
  }

  #nextVisible(): number {
    let next = this.#at;
    while (this.#source[next] === " " || this.#source[next] === "\t") next++;
    return next;
  }

  #skipString(): void {
    this.#isStatementStart = false;
    const quote = this.#source[this.#at] ?? "";
    const isLong = this.#source.startsWith(quote.repeat(3), this.#at);
    const end = isLong ? quote.repeat(3) : quote;
    const start = this.#at;
    for (this.#at += end.length; this.#at < this.#source.length; this.#at++) {
      const character = this.#source[this.#at] ?? "";
      if (character === "\\") this.#at++;
      else if (character === quote && this.#source.startsWith(end, this.#at)) {
        this.#at += end.length;
        return;
      } else if (!isLong && isLineEnd(character)) return;
    }
    if (isLong) this.#refuse(start, "a string is opened there and never closed");
  }

  #skipWhile(matches: (character: string) => boolean): void {
    while (this.#at < this.#source.length && matches(this.#source[this.#at] ?? "")) this.#at++;
  }

  #replace(offset: number, text: string): void {
    this.#pieces.push(this.#source.slice(this.#copied, offset), text);
    this.#copied = offset + text.length;
  }

  #refuse(offset: number, why: string): void {
    this.#refusal ??= { offset, why };
  }
}
