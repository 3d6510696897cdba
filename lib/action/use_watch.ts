/** Looks from time to time at what a job's processes have of the device nodes: a GPU can be touched without a context. */
import type { Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import { milliseconds } from "../core/units.ts";
import type { DeviceUse } from "../model/observation.ts";
import type { Clock, UseReader } from "../world/ports.ts";
import type { Alarm } from "./alarm.ts";

export interface UseWatchWorld {
  readonly clock: Clock;
  readonly uses: UseReader;
  /** The job's processes now. */
  listProcesses(): readonly Pid[];
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A look costs the job nothing as long as it takes no more than this share of one core. */
const SHARE = 1 / 400;

/** Hands in what each process has, look by look, until the alarm rings. Rests longer the longer a look takes. */
export async function watchUses(
  onUses: (pid: Pid, uses: Reading<readonly DeviceUse[]>) => void,
  ended: Alarm,
  { clock, uses, listProcesses }: UseWatchWorld,
): Promise<void> {
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    await ended.pause(milliseconds(pause), clock);
    if (ended.hasRung) return;
    const startedAt = clock.monotonic();
    for (const [pid, found] of await uses.readUses(listProcesses())) onUses(pid, found);
    pause = Math.max(pause, (clock.monotonic() - startedAt) / SHARE);
  }
}
