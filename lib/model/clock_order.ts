import type { GpuUuid } from "../core/ids.ts";

/** The kinds of clocks that can be set back to what the card decides by itself. */
export const CLOCK_KINDS = ["graphics", "memory", "applications"] as const;
export type ClockKind = typeof CLOCK_KINDS[number];

/** Sets the clocks of one GPU back. The only thing that a helper is ever told to change. */
export interface ClockOrder {
  readonly gpu: GpuUuid;
  readonly clocks: ClockKind;
}
