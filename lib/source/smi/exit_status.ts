import { type Absent, absent, type Why } from "../../core/reading.ts";

/** Exit statuses of nvidia-smi: its manual, "RETURN VALUE", and what 390 to 595 were seen to return. */
const STATUSES: ReadonlyMap<number, readonly [Why, string]> = new Map([
  [2, ["not-supported", "an argument or a field that this version does not know"]],
  [3, ["not-supported", "the operation is not available on this GPU"]],
  [4, ["no-permission", "this user may not do that"]],
  [6, ["not-reported", "no such GPU"]],
  [8, ["failed", "a GPU's external power cables are not attached"]],
  [9, ["failed", "the driver is not loaded"]],
  [10, ["failed", "the kernel found an interrupt problem with a GPU"]],
  [12, ["failed", "the driver's library was not found"]],
  [13, ["failed", "the driver's library lacks a function that this version needs"]],
  [14, ["failed", "a GPU's infoROM is corrupt"]],
  [15, ["lost", "a GPU has fallen off the bus or cannot be reached"]],
]);

/** What an ended run says by its status alone; `undefined` for success. */
export function describeStatus(
  { status, signal }: { readonly status: number | undefined; readonly signal: string | undefined },
): Absent | undefined {
  if (signal !== undefined) return absent("failed", `nvidia-smi was ended by ${signal}`);
  if (status === undefined || status === 0) return undefined;
  const [why, meaning] = STATUSES.get(status) ?? ["failed", "a failure that it has no number for"] as const;
  return absent(why, `nvidia-smi ended with status ${status}: ${meaning}`);
}
