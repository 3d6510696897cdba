/** Kinds of characters as Python's tokenizer has them. */

/** LF or CR. */
export function isLineEnd(character: string): boolean {
  return character === "\n" || character === "\r";
}

/** What may stand between tokens. */
export function isBlank(character: string): boolean {
  return character === " " || character === "\t" || character === "\f";
}

/** 0 to 9. */
export function isDigit(character: string): boolean {
  return character >= "0" && character <= "9";
}

/** Whether names, keywords and numbers may have it. */
export function isWordCharacter(character: string): boolean {
  return character >= "a" && character <= "z" || character >= "A" && character <= "Z" ||
    isDigit(character) || character === "_" || character > "\x80";
}
