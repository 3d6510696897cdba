import type { HolderClass } from "../model/snapshot.ts";

/** A class with what was seen that makes it so, and the one next thing to do. */
export interface Verdict {
  readonly class: HolderClass;
  readonly evidence: readonly string[];
  readonly advice: string;
  /** For `foreign`: what it is when its own namespace is looked at. */
  readonly inside?: Verdict;
}
