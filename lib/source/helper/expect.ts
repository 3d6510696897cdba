/** Takes parsed JSON apart, value by value. Each function refuses what is not of its kind, and names it. */

export type JsonRecord = Readonly<Record<string, unknown>>;

/** @throws {SyntaxError} if the text is not one JSON object. */
export function parseRecord(text: string): JsonRecord {
  return expectRecord(JSON.parse(text), "frame");
}

/** @throws {SyntaxError} if the value is no object. */
export function expectRecord(value: unknown, name: string): JsonRecord {
  if (isRecord(value)) return value;
  throw refusal(value, name, "an object");
}

/** @throws {SyntaxError} if the value is no array. */
export function expectArray(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw refusal(value, name, "an array");
}

/** @throws {SyntaxError} if the value is no text. */
export function expectText(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw refusal(value, name, "text");
}

/** @throws {SyntaxError} if the value is no number. */
export function expectNumber(value: unknown, name: string): number {
  if (typeof value === "number") return value;
  throw refusal(value, name, "a number");
}

/** @throws {SyntaxError} if the value is no whole number from 0 on. */
export function expectCount(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw refusal(value, name, "a count");
}

/** @throws {SyntaxError} if the value is neither true nor false. */
export function expectBoolean(value: unknown, name: string): boolean {
  if (typeof value === "boolean") return value;
  throw refusal(value, name, "true or false");
}

/** @throws {SyntaxError} if the value is none of the choices. */
export function expectOneOf<T extends string>(value: unknown, name: string, choices: readonly T[]): T {
  const choice = choices.find((choice) => choice === value);
  if (choice !== undefined) return choice;
  throw refusal(value, name, `one of ${choices.join(", ")}`);
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refusal(value: unknown, name: string, expected: string): SyntaxError {
  const shown = JSON.stringify(value) ?? "nothing";
  return new SyntaxError(`Cannot take ${shown.slice(0, 80)} for ${name}: expected ${expected}`);
}
