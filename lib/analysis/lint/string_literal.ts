/** Escapes of Python's string literals that stand for one character (language reference, 2.4.1.1). */
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\n": "",
};
/** How many digits follow `\x`, `\u` and `\U`. */
const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** The value of one string literal, prefix and quotes included; `undefined` for what is no whole literal. */
export function decodeStringLiteral(literal: string): string | undefined {
  const open = [0, 1, 2].find((at) => literal[at] === '"' || literal[at] === "'");
  if (open === undefined) return undefined;
  const prefix = literal.slice(0, open).toLowerCase();
  const quote = literal[open] ?? "";
  const fence = literal.startsWith(quote.repeat(3), open) && literal.length >= open + 6
    ? quote.repeat(3)
    : quote;
  if (literal.length < open + 2 * fence.length || !literal.endsWith(fence)) return undefined;
  const body = literal.slice(open + fence.length, literal.length - fence.length);
  return prefix.includes("r") || !body.includes("\\") ? body : unescape(body);
}

function unescape(body: string): string {
  let text = "";
  for (let at = 0; at < body.length; at++) {
    const character = body[at] ?? "";
    const kind = body[at + 1];
    if (character !== "\\" || kind === undefined) {
      text += character;
      continue;
    }
    at++;
    const digits = HEX_ESCAPES[kind];
    const simple = SIMPLE_ESCAPES[kind];
    if (simple !== undefined) text += simple;
    else if (digits !== undefined) {
      text += fromCode(parseInt(body.slice(at + 1, at + 1 + digits), 16));
      at += digits;
    } else if (kind >= "0" && kind <= "7") {
      let length = 1;
      while (length < 3 && isOctal(body[at + length])) length++;
      text += fromCode(parseInt(body.slice(at, at + length), 8));
      at += length - 1;
    } else text += `\\${kind}`;
  }
  return text;
}

function isOctal(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "7";
}

function fromCode(code: number): string {
  return Number.isInteger(code) && code <= 0x10ffff ? String.fromCodePoint(code) : "\uFFFD";
}
