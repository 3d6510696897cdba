/** How a watch stands at one moment, for renderers and documents. */
import { gpuIndex, gpuUuid, pid } from "../../lib/core/ids.ts";
import { absent } from "../../lib/core/reading.ts";
import { milliseconds } from "../../lib/core/units.ts";
import type { Snapshot } from "../../lib/model/snapshot.ts";
import type { Alert, WatchEvent, WatchView } from "../../lib/model/watch.ts";
import { WORLDS } from "./worlds.ts";

const AT = "2026-11-30T12:10:00.000Z";
const NONE = milliseconds(0);

/** What a process may call itself that wants to drive a terminal, end a line, or run in a shell. */
export const HOSTILE_NAME = "\x1b[2J'; $(touch /tmp/owned)\n<0>";

/** A dead process's memory. */
export const GHOST_ALERT: Alert = {
  kind: "ghost",
  key: "ghost GPU-0 794",
  severity: "warning",
  gpu: { index: gpuIndex(0), uuid: gpuUuid("GPU-00000000-0000-4000-8000-000000000000") },
  process: { pid: pid(794), command: undefined },
  isOver: true,
  after: milliseconds(60_000),
  already: NONE,
  since: "2026-11-30T12:05:00.000Z",
  message: "PID 794 is dead and still has 2.5 GiB on GPU 0",
  evidence: ["most likely kept by PID 812 (python train.py): has GPU 0 mapped"],
  advice: "gpuctl clean-zombies --gpu 0 shows how to end safely what keeps it",
};

/** A leak of a process with a name that nobody should print as it is. */
export const HOSTILE_ALERT: Alert = {
  ...GHOST_ALERT,
  kind: "growth",
  key: "growth GPU-0 666",
  process: { pid: pid(666), command: HOSTILE_NAME },
  message: `PID 666 (${HOSTILE_NAME}) takes 3.5 GiB more an hour on GPU 0`,
  evidence: [],
  advice: "look",
};

/** A driver that has stopped answering, which is about no GPU and no process. */
export const DRIVER_ALERT: Alert = {
  ...GHOST_ALERT,
  kind: "driver",
  key: "driver",
  severity: "err",
  gpu: undefined,
  process: undefined,
  message: "the driver gives no answer: no answer in time",
  evidence: [],
  advice: "gpuctl snapshot says what can be seen without it",
};

/** The end of the driver's silence. */
export const CLEARED: Extract<WatchEvent, { event: "cleared" }> = {
  event: "cleared",
  at: AT,
  alert: DRIVER_ALERT,
  lasted: milliseconds(65_000),
};

/** A moment of a watch with this snapshot and these alerts. */
export function watchView(snapshot: Snapshot, alerts: readonly Alert[] = []): WatchView {
  return {
    at: AT,
    elapsed: milliseconds(600_000),
    snapshot,
    processesAge: milliseconds(12_000),
    alerts,
    remarks: [],
  };
}

/** Moments by name. */
export const WATCH_VIEWS = {
  quiet: watchView(WORLDS.live),
  ghost: watchView(WORLDS["forked-child"], [GHOST_ALERT, HOSTILE_ALERT]),
  "no-driver": {
    ...watchView(WORLDS["hanging-driver"], [DRIVER_ALERT]),
    remarks: [{
      subject: "--prometheus",
      reason: absent("failed", "Cannot write /x: no space is left on the device"),
      message: "The metrics of --prometheus are not up to date",
    }],
  },
} as const satisfies Record<string, WatchView>;
