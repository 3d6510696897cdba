/** The one vocabulary of nvidia-smi's values: a number with its unit, a word from a list, or a word that says why there is none. */
import { type BusId, type DeviceMinor, deviceMinor, parseBusId } from "../../core/ids.ts";
import { type Absent, absent, known, type Reading, type Why } from "../../core/reading.ts";
import { truncate } from "../../core/text.ts";
import { type Bytes, bytes, type Percent, percent } from "../../core/units.ts";
import { type ComputeMode, RECOVERY_ACTIONS, type RecoveryAction } from "../../model/gpu.ts";

/** Longest piece of someone else's text that goes into a reason or a message. */
const RAW_WIDTH = 200;
const MIB = 1024 ** 2;

/**
 * What stands where a value should be, in lower case and without brackets. Drivers up to 390 print `[Not Supported]`
 * where later ones print `[N/A]`; the rest are the words of nvmlErrorString (nvml.h).
 */
const ABSENCES: ReadonlyMap<string, Why> = new Map([
  ["n/a", "not-supported"],
  ["not supported", "not-supported"],
  ["not available in wddm driver model", "not-supported"],
  ["requested functionality has been deprecated", "not-supported"],
  ["function not found", "not-supported"],
  ["not found", "not-reported"],
  ["no data", "not-reported"],
  ["not available", "not-reported"],
  ["-", "not-reported"],
  ["", "not-reported"],
  ["insufficient permissions", "no-permission"],
  ["gpu access blocked by the operating system", "no-permission"],
  ["gpu is lost", "lost"],
  ["gpu requires reset", "reset-required"],
  ["timeout", "timed-out"],
  ["unknown error", "failed"],
  ["unknown", "failed"],
  ["err!", "failed"],
  ["error", "failed"],
]);

/** What stands for a process's name. Fewer words than above, for a program may well be called `error`. */
const NAME_ABSENCE =
  /^(?:|-|n\/a|unknown error|insufficient permissions|gpu is lost|gpu requires reset|not found|\[(?:n\/a|not supported|not found|no data|unknown|unknown error|insufficient permissions|gpu is lost|gpu requires reset|cut off)\])$/i;

const COMPUTE_MODE_WORDS: ReadonlyMap<string, ComputeMode> = new Map([
  ["default", "default"],
  ["exclusive thread", "exclusive-thread"],
  ["e. thread", "exclusive-thread"],
  ["prohibited", "prohibited"],
  ["exclusive process", "exclusive-process"],
  ["e. process", "exclusive-process"],
]);

const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ["enabled", true],
  ["on", true],
  ["yes", true],
  ["active", true],
  ["disabled", false],
  ["off", false],
  ["no", false],
  ["not active", false],
]);

/** Why there is no value, if the text is one of nvidia-smi's words for that. Keeps the words as detail. */
export function findAbsence(text: string): Absent | undefined {
  const raw = text.trim();
  const isBracketed = raw.startsWith("[") && raw.indexOf("]") === raw.length - 1;
  const word = (isBracketed ? raw.slice(1, -1) : raw).toLowerCase();
  const why = ABSENCES.get(word.startsWith("error: ") ? word.slice("error: ".length) : word);
  if (why !== undefined) return raw === "" ? absent(why) : absent(why, raw);
  // Newer drivers have more such words, and no value that we read stands in brackets.
  return isBracketed ? absent("not-reported", excerpt(raw)) : undefined;
}

/** A process's name; `undefined` where nvidia-smi prints a status in its place. */
export function findName(text: string | undefined): string | undefined {
  const name = text?.trim() ?? "";
  return NAME_ABSENCE.test(name) ? undefined : name;
}

/** Whether a table has cut this name at one end. Such a name matches nothing. */
export function isCutName(name: string): boolean {
  return name.startsWith("...") || name.endsWith("...");
}

/** Memory as nvidia-smi prints it, in MiB. No other unit is taken: none was ever seen. */
export function memoryOf(text: string | undefined): Reading<Bytes> {
  return readingOf(text, (raw) => {
    const digits = /^(\d{1,10}) ?MiB$/.exec(raw)?.[1];
    return digits === undefined || Number(digits) >= 2 ** 33 ? undefined : bytes(Number(digits) * MIB);
  });
}

/** A rate from `0 %` to `100 %`. */
export function percentOf(text: string | undefined): Reading<Percent> {
  return readingOf(text, (raw) => {
    const digits = /^(\d{1,3}) ?%$/.exec(raw)?.[1];
    return digits === undefined || Number(digits) > 100 ? undefined : percent(Number(digits));
  });
}

/** A small whole number: an index, an id of a GPU instance. */
export function countOf(text: string | undefined): Reading<number> {
  return readingOf(text, (raw) => /^\d{1,9}$/.test(raw) ? Number(raw) : undefined);
}

/** `Enabled`, `On`, `Yes`, `Active` and their opposites. */
export function switchOf(text: string | undefined): Reading<boolean> {
  return readingOf(text, (raw) => SWITCH_WORDS.get(raw.toLowerCase()));
}

/** The compute mode, spelled out or shortened as in the table (`E. Process`). */
export function computeModeOf(text: string | undefined): Reading<ComputeMode> {
  return readingOf(text, (raw) => COMPUTE_MODE_WORDS.get(raw.toLowerCase().replaceAll("_", " ")));
}

/** The recovery action; any word of RECOVERY_ACTIONS however nvidia-smi spaces it (`Drain and Reset`). */
export function recoveryActionOf(text: string | undefined): Reading<RecoveryAction> {
  return readingOf(text, (raw) => {
    const word = raw.toLowerCase().replaceAll(" ", "-");
    return RECOVERY_ACTIONS.find((action) => action === word);
  });
}

/** A version such as `580.159.04` or `13.0`. */
export function versionOf(text: string | undefined): Reading<string> {
  return readingOf(text, (raw) => /^\d{1,5}(?:\.\d{1,5}){1,3}$/.test(raw) ? raw : undefined);
}

/** A GPU's product name, cut or not. */
export function productNameOf(text: string | undefined): Reading<string> {
  return readingOf(text, (raw) => raw);
}

/** A PCI address in any of its spellings. */
export function busIdOf(text: string | undefined): Reading<BusId> {
  return readingOf(text, findBusId);
}

/** The N of `/dev/nvidiaN`. */
export function minorOf(text: string | undefined): Reading<DeviceMinor> {
  return readingOf(text, (raw) => /^\d{1,6}$/.test(raw) ? deviceMinor(Number(raw)) : undefined);
}

/** The PCI address that a text is, if it is one with its bus, device and function. */
export function findBusId(text: string): BusId | undefined {
  return /^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i.test(text) ? parseBusId(text) : undefined;
}

/** Somebody else's text, short enough for a message. */
export function excerpt(text: string): string {
  return truncate(text.trim().slice(0, 4 * RAW_WIDTH), RAW_WIDTH);
}

function readingOf<T>(text: string | undefined, parse: (raw: string) => T | undefined): Reading<T> {
  if (text === undefined) return absent("not-reported");
  const raw = text.trim();
  const missing = findAbsence(raw);
  if (missing) return missing;
  const value = parse(raw);
  return value === undefined ? absent("implausible", excerpt(raw)) : known(value);
}
