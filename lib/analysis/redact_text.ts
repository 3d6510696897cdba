/**
 * Sentences without the names in them. They are the program's own, around texts of others: only words that are known to
 * be the program's stay, whatever stands between them.
 */
import type { Names } from "./redact_names.ts";
import { isPublicWord } from "./redact_public.ts";

/** What words are made of: all but blanks, brackets, quotes and the marks between words. */
const WORD = /[^\s()[\]{}<>"'`,;!?|\\=]+/y;
/** How a process is named beside its pid. */
const BEFORE_NAME = /PID \d{1,7} $/;
const BRACKETED = /^\((.*)\)(?=$|[\s,;:.])/s;
/** How a kernel function is named. The kernel chose it. */
const BEFORE_FUNCTION = /\bwaits in the driver $/;

interface Phrase {
  readonly text: string;
  readonly standIn: string;
}

/** Rewrites sentences with the stand-ins of one report. */
export class Sentences {
  readonly #names: Names;
  readonly #words = new Map<string, string>();
  /** Texts of several words, by the run of characters that they begin with, the longest first. */
  readonly #phrases = new Map<string, Phrase[]>();

  constructor(names: Names) {
    this.#names = names;
  }

  /** Makes a text that stands in a field be known again in sentences. One that reads like a sentence of ours is not. */
  learn(text: string, standIn: string): void {
    if (text.split(/[\s()[\]{}<>"'`,;!?|\\=]+/).every(isPublicWord)) return;
    const start = runAt(text, 0);
    if (start === text) {
      this.#words.set(text, standIn);
      return;
    }
    const key = start || text.charAt(0);
    const phrases = this.#phrases.get(key) ?? [];
    if (phrases.some((phrase) => phrase.text === text)) return;
    this.#phrases.set(key, [...phrases, { text, standIn }].sort((a, b) => b.text.length - a.text.length));
  }

  /** The sentence with a stand-in for everything in it that is not the program's own. */
  rewrite(sentence: string): string {
    let written = "";
    for (let place = 0; place < sentence.length;) {
      const [read, put] = this.#step(sentence, place);
      written += put;
      place += read;
    }
    return written;
  }

  /** How many characters come next as one, and what to write for them. */
  #step(sentence: string, place: number): [read: number, put: string] {
    const run = runAt(sentence, place);
    // A stand-in next to a word would be read as a part of it.
    const isApart = run !== "" || place === 0 || runAt(sentence, place - 1) === "";
    const phrases = isApart ? this.#phrases.get(run || sentence.charAt(place)) : undefined;
    const phrase = phrases?.find(({ text }) =>
      sentence.startsWith(text, place) && isWordEnd(sentence, place + text.length)
    );
    if (phrase) return [phrase.text.length, phrase.standIn];
    if (run !== "") return [run.length, this.#word(run)];
    const inner = sentence.charAt(place) === "(" ? this.#bracketed(sentence, place) : undefined;
    return inner ?? [1, sentence.charAt(place)];
  }

  /** A name in brackets may be any text at all, with brackets in it: the last one at the end of a word ends it. */
  #bracketed(sentence: string, place: number): [number, string] | undefined {
    const before = sentence.slice(Math.max(0, place - 32), place);
    const inner = BRACKETED.exec(sentence.slice(place))?.[1];
    if (inner === undefined) return undefined;
    if (BEFORE_NAME.test(before)) return [inner.length + 1, `(${this.#names.program(inner)}`];
    const isFunction = BEFORE_FUNCTION.test(before) && /^\w{1,64}$/.test(inner);
    return isFunction ? [inner.length + 1, `(${inner}`] : undefined;
  }

  #word(run: string): string {
    const [word = run] = /^.+?(?=[.:]*$)/s.exec(run) ?? [];
    const rest = run.slice(word.length);
    return isPublicWord(word) ? run : `${this.#words.get(word) ?? this.#unknown(word)}${rest}`;
  }

  #unknown(word: string): string {
    if (/^(?:GPU|MIG)-/.test(word)) return this.#names.gpu(word);
    return word.includes("/") ? this.#names.path(word) : this.#names.name(word, "word");
  }
}

function runAt(text: string, place: number): string {
  WORD.lastIndex = place;
  return WORD.exec(text)?.[0] ?? "";
}

function isWordEnd(text: string, place: number): boolean {
  return /^[.:]*$/.test(runAt(text, place));
}
