/** Exit statuses of nvidia-smi as they bear on a reset: its manual, "RETURN VALUE", and what 390 to 595 were seen to return. */

export interface StatusMeaning {
  readonly meaning: string;
  /** The one thing to do next. */
  readonly next: string;
}

const MEANINGS: ReadonlyMap<number, StatusMeaning> = new Map([
  [2, {
    meaning: "this version does not know an argument",
    next: "see nvidia-smi -h; the driver's tools may be too old",
  }],
  [3, { meaning: "this GPU cannot do that", next: "reboot; in a virtual machine, restart that" }],
  [4, { meaning: "this user may not do that", next: "run it as root" }],
  [6, {
    meaning: "there is no such GPU any more",
    next: "see whether it is still on the bus: gpuctl snapshot; if not, reboot",
  }],
  [8, {
    meaning: "a GPU's external power cables are not attached",
    next: "have the power of the card checked",
  }],
  [9, { meaning: "the driver is not loaded", next: "modprobe nvidia, then look again" }],
  [10, {
    meaning: "the kernel found an interrupt problem with a GPU",
    next: "see the kernel log; reboot",
  }],
  [12, { meaning: "the driver's library was not found", next: "install the driver's library" }],
  [13, {
    meaning: "the driver's library lacks a function that this version needs",
    next: "install tools and library of one version; after an update, reboot",
  }],
  [14, { meaning: "the GPU's infoROM is corrupt", next: "have the card replaced" }],
  [15, {
    meaning: "the GPU has fallen off the bus or cannot be reached",
    next: "reboot; if it stays away, cut the power",
  }],
  [18, {
    meaning: "library and kernel module are of different versions",
    next: "reboot, or reload the nvidia modules once no job uses a GPU",
  }],
  [255, {
    meaning: "it refused or failed, and has no number for why",
    next: "read what it wrote; see the kernel log",
  }],
]);
const UNLISTED: StatusMeaning = {
  meaning: "a status that its manual does not list",
  next: "read what it wrote; see the kernel log",
};

/** What a status other than 0 means, and what to do. */
export function explainStatus(status: number): StatusMeaning {
  return MEANINGS.get(status) ?? UNLISTED;
}
