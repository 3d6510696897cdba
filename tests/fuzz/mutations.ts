/** Real inputs, damaged as files are in the field: cut, doubled, out of order, with flipped bytes and foreign pieces. */
import fc from "fast-check";

/** A damaged input, and the one that it was. */
export interface Mutant {
  readonly original: string;
  readonly text: string;
}

type Damage = (text: string) => string;

const NUMBERS = [
  "0",
  "-1",
  "4294967296",
  "9007199254740993",
  "18446744073709551615",
  "9".repeat(400),
  "1e999",
];
const PIECES = [
  ...[
    "\0",
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\r",
    "\r\n",
    "\u2028",
    "\u202e",
    "\ufeff",
    "\ufffd",
    "\ud800",
    "\u00a0",
  ],
  ...[
    "|",
    "+----+",
    ",",
    " : ",
    "\n",
    "\n\n",
    "\t",
    '"',
    "'",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "&",
    "=",
    "#",
    "/",
  ],
  ...[
    "[N/A]",
    "N/A",
    "ERR!",
    "MiB",
    "GPU",
    "</gpu>",
    "<processes>",
    "__proto__",
    "constructor",
    "null",
    "true",
  ],
];
// fc.double() is nearly always close to 0.
const place = fc.nat(2 ** 20 - 1).map((part) => part / 2 ** 20);

const damage: fc.Arbitrary<Damage> = fc.oneof(
  place.map((at): Damage => (text) => text.slice(0, pick(at, text.length))),
  place.map((at): Damage => (text) => text.slice(pick(at, text.length))),
  fc.tuple(place, place).map(([one, other]): Damage => (text) => swapLines(text, one, other)),
  fc.tuple(place, fc.nat(40)).map(([at, times]): Damage => (text) => repeatLine(text, at, times)),
  fc.tuple(place, fc.nat(0x2ff)).map(([at, code]): Damage => (text) => {
    const index = pick(at, text.length);
    return text.slice(0, index) + String.fromCharCode(code) + text.slice(index + 1);
  }),
  fc.tuple(place, fc.constantFrom(...PIECES)).map(([at, piece]): Damage => (text) => {
    const index = pick(at, text.length + 1);
    return text.slice(0, index) + piece + text.slice(index);
  }),
  fc.tuple(place, fc.constantFrom(...NUMBERS)).map(([at, number]): Damage => (text) => {
    const found = [...text.matchAll(/\d+/g)];
    const { index = 0, 0: digits = "" } = found[pick(at, found.length)] ?? {};
    return text.slice(0, index) + number + text.slice(index + digits.length);
  }),
);

/** Inputs damaged in one to six ways, some with another input spliced in. */
export function mutantsOf(corpus: readonly string[]): fc.Arbitrary<Mutant> {
  const splice = fc.tuple(fc.constantFrom(...corpus), place, place).map(
    ([other, from, at]): Damage => (text) => {
      const index = pick(at, text.length + 1);
      return text.slice(0, index) + other.slice(pick(from, other.length)) + text.slice(index);
    },
  );
  const steps = fc.array(fc.oneof({ weight: 9, arbitrary: damage }, { weight: 1, arbitrary: splice }), {
    minLength: 1,
    maxLength: 6,
  });
  return fc.tuple(fc.constantFrom(...corpus), steps).map(([original, damages]) => ({
    original,
    text: damages.reduce((text, apply) => apply(text), original),
  }));
}

/** Inputs of which the end is missing. */
export function truncationsOf(corpus: readonly string[]): fc.Arbitrary<Mutant> {
  return fc.tuple(fc.constantFrom(...corpus), place).map(([original, at]) => ({
    original,
    text: original.slice(0, pick(at, original.length)),
  }));
}

/** Texts that no program wrote, of the pieces that its parser looks for. */
export function noiseOf(pieces: readonly string[]): fc.Arbitrary<Mutant> {
  return fc.array(
    fc.oneof(fc.constantFrom(...pieces, ...PIECES, ...NUMBERS), fc.string({ maxLength: 4, unit: "binary" })),
    {
      maxLength: 40,
    },
  ).map((words) => ({ original: "", text: words.join("") }));
}

function pick(at: number, length: number): number {
  return Math.min(Math.floor(at * length), Math.max(0, length - 1));
}

function swapLines(text: string, one: number, other: number): string {
  const lines = text.split("\n");
  const [a, b] = [pick(one, lines.length), pick(other, lines.length)];
  return lines.map((line, index) => (index === a ? lines[b] : index === b ? lines[a] : line) ?? line).join(
    "\n",
  );
}

function repeatLine(text: string, at: number, times: number): string {
  const lines = text.split("\n");
  const index = pick(at, lines.length);
  lines.splice(index, 1, ...Array.from({ length: times }, () => lines[index] ?? ""));
  return lines.join("\n");
}
