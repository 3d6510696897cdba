/**
 * What the metrics of one GPU are made of: each says its values as readings. Known ones become samples; the reason of an
 * absent one becomes a sample of a metric of its own.
 */
import type { GpuUuid } from "../core/ids.ts";
import { known, type Reading } from "../core/reading.ts";
import type { Ghost, GpuAccount, Holder, HolderDevice } from "../model/snapshot.ts";
import type { MetricHead } from "./prometheus.ts";

/** A holder with what it has on the GPU in question. */
export interface HolderThere extends Pick<Holder, "class" | "owner"> {
  readonly contextBytes: HolderDevice["contextBytes"];
}

/** All that a snapshot says of one GPU. */
export interface GpuView {
  readonly uuid: GpuUuid;
  /** Not there for a GPU that only a holder or a ghost names. */
  readonly account: GpuAccount | undefined;
  readonly holders: readonly HolderThere[];
  readonly ghosts: readonly Ghost[];
  /** Whether everybody was seen, so that nobody is 0. */
  readonly isEverybodySeen: boolean;
}

/** A value under the labels that come after `uuid`. */
export interface GpuValue {
  readonly labels: readonly (string | undefined)[];
  readonly value: Reading<number>;
}

/** A metric that each GPU has. Its labels come after `uuid`. */
export interface GpuMetric extends MetricHead {
  readonly read: (view: GpuView) => readonly GpuValue[];
}

/** A value with its labels. */
export function one(value: Reading<number>, ...labels: readonly (string | undefined)[]): GpuValue {
  return { labels, value };
}

/** A sum that lacks a part is not known. */
export function sum(parts: readonly Reading<number>[]): Reading<number> {
  let total = 0;
  for (const part of parts) {
    if (!part.ok) return part;
    total += part.value;
  }
  return known(total);
}
