/** Exit statuses of nvidia-smi: its manual, "RETURN VALUE", and what 390 to 595 were seen to return. */
import type { Why } from "../core/reading.ts";

/** What one status says. */
export interface SmiStatus {
  /** Why there is no answer, as a reading says it. */
  readonly why: Why;
  readonly meaning: string;
  /** The one thing to do next, where a reset ended with it. */
  readonly next: string;
}

const STATUSES: ReadonlyMap<number, SmiStatus> = new Map<number, SmiStatus>([
  [2, {
    why: "not-supported",
    meaning: "this version does not know an argument or a field",
    next: "see nvidia-smi -h; the driver's tools may be too old",
  }],
  [3, {
    why: "not-supported",
    meaning: "this GPU cannot do that",
    next: "reboot; in a virtual machine, restart that",
  }],
  [4, { why: "no-permission", meaning: "this user may not do that", next: "run it as root" }],
  [6, {
    why: "not-reported",
    meaning: "there is no such GPU any more",
    next: "see whether it is still on the bus: gpuctl snapshot; if not, reboot",
  }],
  [8, {
    why: "failed",
    meaning: "a GPU's external power cables are not attached",
    next: "have the power of the card checked",
  }],
  [9, { why: "failed", meaning: "the driver is not loaded", next: "modprobe nvidia, then look again" }],
  [10, {
    why: "failed",
    meaning: "the kernel found an interrupt problem with a GPU",
    next: "see the kernel log; reboot",
  }],
  [12, {
    why: "failed",
    meaning: "the driver's library was not found",
    next: "install the driver's library",
  }],
  [13, {
    why: "failed",
    meaning: "the driver's library lacks a function that this version needs",
    next: "install tools and library of one version; after an update, reboot",
  }],
  [14, { why: "failed", meaning: "a GPU's infoROM is corrupt", next: "have the card replaced" }],
  [15, {
    why: "lost",
    meaning: "a GPU has fallen off the bus or cannot be reached",
    next: "reboot; if it stays away, cut the power",
  }],
  [18, {
    why: "failed",
    meaning: "library and kernel module are of different versions",
    next: "reboot, or reload the nvidia modules once no job uses a GPU",
  }],
  [255, {
    why: "failed",
    meaning: "it refused or failed, and has no number for why",
    next: "read what it wrote; see the kernel log",
  }],
]);

const UNLISTED: SmiStatus = {
  why: "failed",
  meaning: "a status that its manual does not list",
  next: "read what it wrote; see the kernel log",
};

/** What a status other than 0 means, and what to do. */
export function explainStatus(status: number): SmiStatus {
  return STATUSES.get(status) ?? UNLISTED;
}
