/** The driver's errors as they are logged. */
import type { BusId } from "../../core/ids.ts";
import { type Milliseconds, milliseconds } from "../../core/units.ts";
import type { Gpu } from "../../model/gpu.ts";
import type { XidEvent } from "../../model/reset_facts.ts";
import type { Condition, Severity } from "../../model/watch.ts";
import { classifyXid, type XidClass } from "../xids.ts";
import { watchedGpu } from "./naming.ts";

/** `undefined`: a process was ended while it used the GPU, which is no error of anybody's. */
const SEVERITY_OF = {
  application: "warning",
  informational: "notice",
  preemption: undefined,
  reset: "err",
  drain: "err",
  reboot: "err",
  "restart-vm": "err",
  hardware: "err",
  "recovery-action": "warning",
  unclassified: "warning",
} as const satisfies Record<XidClass, Severity | undefined>;

/** A GPU with errors in a row is one of a dozen numbers; more than this is somebody's forgery. */
const MOST_KINDS = 256;

interface Seen {
  readonly event: XidEvent;
  readonly severity: Severity;
  readonly meaning: string;
  readonly firstAt: Milliseconds;
  readonly lastAt: Milliseconds;
  readonly count: number;
}

/** Keeps what was logged lately: each number once for each GPU. */
export class XidWatch {
  readonly #staysFor: Milliseconds;
  readonly #seen = new Map<string, Seen>();

  /** @param staysFor how long an error stands that is not logged again. */
  constructor(staysFor: Milliseconds) {
    this.#staysFor = staysFor;
  }

  /** Takes in what was logged since the last moment. */
  add(events: readonly XidEvent[], at: Milliseconds): void {
    for (const event of events) {
      const { class: name, meaning } = classifyXid(event);
      const severity = SEVERITY_OF[name];
      const key = `xid ${event.busId.slice(0, -2)} ${event.xid}`;
      if (severity === undefined || (this.#seen.size >= MOST_KINDS && !this.#seen.has(key))) continue;
      const before = this.#seen.get(key);
      const firstAt = before?.firstAt ?? at;
      this.#seen.set(key, { event, severity, meaning, firstAt, lastAt: at, count: (before?.count ?? 0) + 1 });
    }
    for (const [key, { lastAt }] of this.#seen) {
      if (at - lastAt >= this.#staysFor) this.#seen.delete(key);
    }
  }

  /** What stands on these GPUs. An error of a GPU that is on none of their addresses is told without one. */
  conditions(
    at: Milliseconds,
    { gpus, isWatched }: { readonly gpus: readonly Gpu[]; readonly isWatched: (busId: BusId) => boolean },
  ): Condition[] {
    return [...this.#seen].flatMap(([key, { event, severity, meaning, firstAt, count }]): Condition[] => {
      if (!isWatched(event.busId)) return [];
      const gpu = gpus.find(({ busId }) => busId.ok && isSameDevice(busId.value, event.busId));
      const where = gpu === undefined ? event.busId : `GPU ${gpu.index}`;
      const said = event.text === "" ? [] : [`the driver says: ${event.text}`];
      const times = count === 1 ? [] : [`${count} times so far`];
      const advice = severity === "err"
        ? `gpuctl reset-gpu ${gpu?.index ?? event.busId} says whether a reset would help`
        : "see what the program was doing; many such errors of several programs may come of the hardware";
      return [{
        kind: "xid",
        key,
        severity,
        gpu: gpu && watchedGpu(gpu),
        process: event.pid.ok
          ? { pid: event.pid.value, command: event.name.ok ? `[${event.name.value}]` : undefined }
          : undefined,
        isOver: true,
        after: milliseconds(0),
        already: milliseconds(at - firstAt),
        message: `Xid ${event.xid} on ${where}: ${meaning}`,
        evidence: [...said, ...times],
        advice,
      }];
    });
  }
}

/** The log names a device without its function. */
export function isSameDevice(a: BusId, b: BusId): boolean {
  return a.slice(0, -2) === b.slice(0, -2);
}
