/** Labelled machines: who holds a GPU, what each holder is, and whether a cleaning with the defaults ends it. */
import { DEFAULT_CLASSES, type EndingPolicy, planEnding } from "../../lib/analysis/ending.ts";
import { bytes, milliseconds } from "../../lib/core/units.ts";
import type { HolderClass } from "../../lib/model/snapshot.ts";
import { type MachineSpec, type ProcessSpec, timedLook } from "./machine.ts";

/** The judgement of one holder. */
export interface Fate {
  readonly class: HolderClass;
  readonly ended: boolean;
}

export interface MachineCase {
  /** What the machine shows, in words that do not judge. */
  readonly title: string;
  readonly spec: MachineSpec;
  /** What is different three seconds later, by pid; nothing unless given. */
  readonly later?: Readonly<Record<number, Partial<ProcessSpec> | "gone">>;
  /** Every holder of the second look and no other process, by pid. */
  readonly expect: Readonly<Record<number, Fate>>;
}

/** The policy of `gpuctl clean-zombies` without options. */
export const DEFAULT_POLICY: EndingPolicy = {
  classes: new Set(DEFAULT_CLASSES),
  minAge: milliseconds(30_000),
  minBytes: bytes(0),
  protect: [],
};

const FIRST_TICKS = 1_000_000;
const CONFIRM_TICKS = 300;

/** A holder that a cleaning with the defaults ends. */
export function ended(name: HolderClass): Fate {
  return { class: name, ended: true };
}

/** A holder that it leaves alone. */
export function kept(name: HolderClass): Fate {
  return { class: name, ended: false };
}

/** What becomes of every holder, by pid. */
export function fatesOn(
  { spec, later = {} }: Pick<MachineCase, "spec" | "later">,
  policy: EndingPolicy = DEFAULT_POLICY,
): Record<number, Fate> {
  const first = timedLook({ ticks: FIRST_TICKS, ...spec });
  const second = timedLook({
    ticks: FIRST_TICKS + CONFIRM_TICKS,
    ...spec,
    processes: change(spec.processes, later),
  });
  const { acts, kept } = planEnding(first, second, policy);
  return Object.fromEntries([
    ...acts.map(({ identity, class: name }) => [identity.pid, ended(name)] as const),
    ...kept.map(({ pid, class: name }) => [pid, { class: name, ended: false }] as const),
  ]);
}

function change(
  processes: readonly ProcessSpec[],
  later: NonNullable<MachineCase["later"]>,
): ProcessSpec[] {
  return processes.flatMap((process) => {
    const changes = later[process.pid];
    return changes === "gone" ? [] : [{ ...process, ...changes }];
  });
}
