/** What the schemas are made of: the values and shapes that several documents share. Free of transforms, so that each has a JSON Schema. */
import * as v from "valibot";

// Each message completes the sentence "/gpus/0/index must be ...".
export const TEXT = v.string("text");
export const NULLABLE_TEXT = v.nullable(TEXT);
export const FLAG = v.boolean("true or false");
export const COUNT = wholeNumber(Number.MAX_SAFE_INTEGER, "a whole number from 0 to 2^53 - 1");
/** Memory. */
export const BYTES = described(COUNT, "Bytes");
/** A span of time. */
export const MILLISECONDS = described(COUNT, "Milliseconds");
/** A process's start time. With the pid and the boot id it is unique. */
export const START_TICKS = described(COUNT, "Clock ticks from boot to its start");
export const PID = described(
  v.pipe(wholeNumber(4_194_304, "a pid from 1 to 4194304"), v.minValue(1, "a pid from 1 to 4194304")),
  "Process id",
);
export const UID = described(wholeNumber(0xffff_ffff, "a uid from 0 to 2^32 - 1"), "User id");
export const GPU_INDEX = described(
  wholeNumber(65_535, "a GPU index from 0 to 65535"),
  "As nvidia-smi counts. May change with a reboot; compare by UUID",
);
export const MINOR = wholeNumber(0xfffff, "a device minor from 0 to 2^20 - 1");
export const GPU_UUID = described(
  v.pipe(
    v.string("a GPU UUID"),
    v.minLength(1, "a GPU UUID of 1 to 96 characters"),
    v.maxLength(96, "a GPU UUID of 1 to 96 characters"),
  ),
  "UUID of a GPU",
);
export const BUS_ID = v.pipe(
  v.string("a PCI address"),
  v.regex(/^[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/, "a PCI address such as 00000000:c1:00.0"),
);
export const INSTANT = described(
  v.pipe(
    v.string("a time"),
    v.regex(
      /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/,
      "a time in UTC such as 2026-11-30T12:00:00Z",
    ),
  ),
  "ISO 8601, in UTC",
);
const PERCENT_PHRASE = "a percentage from 0 to 100";
export const PERCENT = v.pipe(
  v.number(PERCENT_PHRASE),
  v.minValue(0, PERCENT_PHRASE),
  v.maxValue(100, PERCENT_PHRASE),
);

/** Whether a document is about a simulated server. */
export const SIMULATED = described(FLAG, "True where no real GPU is behind the numbers");
/** Sentences for people. */
export const NOTES = described(list(TEXT), "Good to know, one sentence each");
/** A process's arguments, of which a document may know nothing. */
export const COMMAND = described(NULLABLE_TEXT, "Its arguments, quoted for a POSIX shell");

/** The name and major version of a format, which each of its documents carries. */
export function versionOf<const Name extends string>(name: Name) {
  return described(v.literal(name, name), "Name and major version of the format");
}

/** A whole number of either sign. */
export function integer(phrase: string) {
  return v.pipe(v.number(phrase), v.safeInteger(phrase));
}

/** A whole number from 0 to the `most` that there can be. */
export function wholeNumber(most: number, phrase: string) {
  return v.pipe(integer(phrase), v.minValue(0, phrase), v.maxValue(most, phrase));
}

/** One of some words. */
export function oneOf<const Words extends readonly string[]>(words: Words) {
  return v.picklist(words, `one of ${words.join(", ")}`);
}

/** Keys that are not listed are passed over: a newer minor version may have more. */
export function record<const Entries extends v.ObjectEntries>(entries: Entries) {
  return v.object(entries, "an object");
}

/** A key that came within a version: what was written before it is read as if it were null. */
export function added<const Schema extends v.GenericSchema>(schema: Schema) {
  return v.nullish(schema, null);
}

/** A list of values of one kind. */
export function list<const Item extends v.GenericSchema>(item: Item) {
  return v.array(item, "a list");
}

/** Says what a value means, in place of what its schema said so far. */
export function described<const Schema extends v.GenericSchema>(schema: Schema, text: string) {
  return v.pipe(schema, v.description(text));
}
