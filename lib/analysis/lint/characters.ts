/** Kinds of characters as Python's tokenizer has them. */

export function isLineEnd(character: string): boolean {
  return character === "\n" || character === "\r";
}

export function isBlank(character: string): boolean {
  return character === " " || character === "\t" || character === "\f";
}

export function isDigit(character: string): boolean {
  return character >= "0" && character <= "9";
}

/** Whether names, keywords and numbers may have it. */
export function isWordCharacter(character: string): boolean {
  return character >= "a" && character <= "z" || character >= "A" && character <= "Z" ||
    isDigit(character) || character === "_" || character > "\x80";
}
