/** Cleanings as they come out, for those who judge or show them. */
import { pid } from "../../lib/core/ids.ts";
import { known } from "../../lib/core/reading.ts";
import { bytes, clockTicks, milliseconds } from "../../lib/core/units.ts";
import type { Act, Cleanup, EndOutcome } from "../../lib/model/cleanup.ts";

const GIB = 1024 ** 3;

/** A run that found nothing and saw everything. */
export const CLEAN: Cleanup = {
  takenAt: known("2026-11-30T12:00:00.000Z"),
  simulated: false,
  isPlan: false,
  acts: [],
  heldBytes: bytes(0),
  kept: [],
  ghosts: [],
  unreadGpus: [],
  sight: { isOwnOnly: false, gaps: [], limits: [] },
  problems: [],
};

/** One act that came to this. */
export function actOf(outcome: EndOutcome): Act {
  const isEnded = outcome === "ended";
  return {
    pid: pid(900),
    startTicks: clockTicks(9000),
    class: "orphan",
    evidence: ["the Python program that started it has ended: its parent is now PID 1 (systemd)"],
    command: "python3 -c 'from multiprocessing.spawn import spawn_main; spawn_main()' --multiprocessing-fork",
    signal: isEnded ? "SIGTERM" : null,
    outcome,
    bytesBefore: bytes(4 * GIB),
    bytesAfter: isEnded ? bytes(0) : null,
    releaseMs: isEnded ? milliseconds(12) : null,
  };
}
