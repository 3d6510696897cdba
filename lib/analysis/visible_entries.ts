/**
 * Reads CUDA_VISIBLE_DEVICES as CUDA itself does, before anything is known of the machine. Every rule here was seen
 * on driver 580.159.04 by asking cuInit and cuDeviceGetUuid for some two hundred values on a machine of two GPUs.
 */

/** The driver ignores a longer value as if it were unset: 2,624 bytes were read, 2,625 were not. 64 UUIDs with commas fit. */
export const LONGEST_VALUE_BYTES = 2624;

const ULONG_MAX = 2n ** 64n - 1n;
const UUID_DIGITS = 32;
const UUID_PREFIXES = ["GPU-", "MIG-"] as const;

/** Why CUDA cannot take an entry, whatever the machine: the list ends there. */
export type BadEntry =
  /** Nothing between two commas, or after the last one. */
  | "empty"
  /** A negative number; `-1` is the usual way to say "and no more". */
  | "negative"
  /** The word that Slurm sets for "no GPU". */
  | "no-dev-files"
  /** A UUID in a list that began with a number, or the other way about. */
  | "other-form"
  /** Neither a number nor a UUID. */
  | "not-a-device"
  /** `GPU-` or `MIG-` with something other than a part of a UUID behind it. */
  | "not-a-uuid";

/** One entry between two commas. `ignored` is the text behind what CUDA reads: it has no effect. */
export type VisibleEntry =
  | { readonly kind: "number"; readonly text: string; readonly number: number; readonly ignored: string }
  | {
    readonly kind: "uuid";
    readonly text: string;
    readonly prefix: typeof UUID_PREFIXES[number];
    /** 1 to 32 hexadecimal digits in lower case, without dashes. */
    readonly digits: string;
    readonly ignored: string;
  }
  | {
    readonly kind: "mig-path";
    readonly text: string;
    readonly digits: string;
    readonly gpuInstance: number;
    readonly computeInstance: number;
  }
  | { readonly kind: "bad"; readonly text: string; readonly why: BadEntry };

/** Whether the driver ignores the value for its length and shows every GPU. */
export function isTooLong(value: string): boolean {
  // A UTF-16 unit takes at least one byte, so only a short text needs to be counted.
  return value.length > LONGEST_VALUE_BYTES || new TextEncoder().encode(value).length > LONGEST_VALUE_BYTES;
}

/** The entries that CUDA reads, in order. The first one that it cannot take is the last, and is included. */
export function readVisibleEntries(value: string): readonly VisibleEntry[] {
  const entries: VisibleEntry[] = [];
  const texts = value.split(",");
  const readEntry = isUuidForm(value) ? readUuidEntry : readNumberEntry;
  for (const text of texts) {
    const entry = readEntry(text);
    entries.push(entry);
    if (entry.kind === "bad") break;
  }
  return entries;
}

/** The hexadecimal digits of a UUID as a driver prints it, without prefix and dashes, in lower case. */
export function uuidDigits(uuid: string): string {
  const prefix = UUID_PREFIXES.find((candidate) => uuid.startsWith(candidate)) ?? "";
  return uuid.slice(prefix.length).replaceAll("-", "").toLowerCase();
}

function readNumberEntry(text: string): VisibleEntry {
  if (text === "") return { kind: "bad", text, why: "empty" };
  if (text === "NoDevFiles") return { kind: "bad", text, why: "no-dev-files" };
  // As strtoul(3) in base 10: isspace(3) in front, one sign, then digits; whatever follows is left alone.
  const [read, sign, digits] = /^[ \t\n\v\f\r]*([+-]?)([0-9]+)/.exec(text) ?? [];
  if (read === undefined || digits === undefined) {
    return { kind: "bad", text, why: isUuidForm(text) ? "other-form" : "not-a-device" };
  }
  const number = toDeviceNumber(digits, sign === "-");
  if (number < 0) return { kind: "bad", text, why: "negative" };
  return { kind: "number", text, number, ignored: text.slice(read.length) };
}

/** What is left of strtoul's unsigned 64 bits once they are an `int`: 4294967297 means GPU 1. */
function toDeviceNumber(digits: string, isNegative: boolean): number {
  const magnitude = BigInt(digits);
  const unsigned = magnitude > ULONG_MAX ? ULONG_MAX : isNegative ? -magnitude : magnitude;
  return Number(BigInt.asIntN(32, unsigned));
}

function readUuidEntry(text: string): VisibleEntry {
  if (text === "") return { kind: "bad", text, why: "empty" };
  if (text === "NoDevFiles") return { kind: "bad", text, why: "no-dev-files" };
  const path = readMigPath(text);
  if (path) return path;
  const prefix = UUID_PREFIXES.find((candidate) => text.startsWith(candidate));
  if (prefix === undefined) {
    const asNumber = readNumberEntry(text);
    return asNumber.kind === "bad" ? asNumber : { kind: "bad", text, why: "other-form" };
  }
  let digits = "";
  let at = prefix.length;
  for (; at < text.length && digits.length < UUID_DIGITS; at++) {
    const character = text[at] ?? "";
    if (character === "-") continue;
    if (!isHexDigit(character)) return { kind: "bad", text, why: "not-a-uuid" };
    digits += character.toLowerCase();
  }
  if (digits === "") return { kind: "bad", text, why: "not-a-uuid" };
  return { kind: "uuid", text, prefix, digits, ignored: text.slice(at) };
}

/** `MIG-GPU-<uuid>/<GPU instance>/<compute instance>`, the form of drivers before 470 (CUDA programming guide). */
function readMigPath(text: string): VisibleEntry | undefined {
  const [, uuid, gpuInstance, computeInstance] =
    /^MIG-(GPU-[0-9A-Fa-f-]{32,36})\/([0-9]{1,3})\/([0-9]{1,3})$/.exec(text) ?? [];
  if (uuid === undefined) return undefined;
  return {
    kind: "mig-path",
    text,
    digits: uuidDigits(uuid),
    gpuInstance: Number(gpuInstance),
    computeInstance: Number(computeInstance),
  };
}

function isUuidForm(text: string): boolean {
  return UUID_PREFIXES.some((prefix) => text.startsWith(prefix));
}

function isHexDigit(character: string): boolean {
  return /^[0-9A-Fa-f]$/.test(character);
}
