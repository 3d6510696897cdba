/** The systemd of a simulated server, as far as a reset needs one: the services of its faults file stop and start. */
import { type Milliseconds, milliseconds } from "../../core/units.ts";
import { isStillRunning, type ProcessIdentity } from "../../model/process.ts";
import type { ToolRun } from "../../model/tool_run.ts";
import { openLibc } from "../../native/libc.ts";
import { openProcessTable } from "../../proc/table.ts";
import type { Clock, ProcessHandle } from "../../world/ports.ts";
import { findOpenNodes } from "./open_nodes.ts";
import { readDescription, writeDescription } from "./server.ts";

export interface UnitOrder {
  readonly order: "stop" | "start";
  readonly unit: string;
  /** How long its main process has to end. */
  readonly span: Milliseconds;
}

/** What systemctl(1) ends with for a unit that is not loaded. */
const NOT_LOADED = 5;
const PAUSE = milliseconds(10);

/**
 * Stops or starts a service, and returns once that is done. One that stops takes its main process with it, if that has
 * this server open.
 *
 * @throws {GpuctlError} if there is no such server
 */
export async function orderSimUnit(
  directory: string,
  { order, unit, span }: UnitOrder,
  clock: Clock,
): Promise<ToolRun> {
  const description = readDescription(directory);
  const services = description.faults.services ?? [];
  const service = services.find((each) => each.unit === unit);
  if (service === undefined) return { ...QUIET, status: NOT_LOADED, text: `Unit ${unit} not loaded.\n` };
  const pid = service["main-pid"];
  if (order === "stop" && pid !== undefined && !await endUser(pid, { directory, span }, clock)) {
    return { kind: "timed-out" };
  }
  const changed = services.map((each) => each.unit === unit ? { ...each, active: order === "start" } : each);
  writeDescription(directory, { ...description, faults: { ...description.faults, services: changed } });
  return QUIET;
}

/** Says whether a service of the faults file runs. @throws {GpuctlError} if there is no such server */
export function isSimUnitActive(directory: string, unit: string): boolean {
  const service = (readDescription(directory).faults.services ?? []).find((each) => each.unit === unit);
  return service !== undefined && service.active !== false;
}

const QUIET = { kind: "ended", status: 0, signal: undefined, text: "" } as const;

/** Says whether it is gone in time, or no process of this server's at all. */
async function endUser(
  pid: number,
  { directory, span }: { readonly directory: string; readonly span: Milliseconds },
  clock: Clock,
): Promise<boolean> {
  using libc = await openLibc();
  const table = openProcessTable(libc);
  const found = table.findProcess(pid);
  using handle = found && table.openProcess(found);
  if (found === undefined || handle === undefined || !await usesServer(found, directory)) return true;
  return await endHeld(handle, () => isThere(found), { span, clock });

  function isThere(identity: ProcessIdentity): boolean {
    const now = table.findProcess(identity.pid);
    return now?.startTicks === identity.startTicks && isStillRunning(now);
  }
}

async function usesServer({ pid }: ProcessIdentity, directory: string): Promise<boolean> {
  return (await findOpenNodes(directory)).has(pid);
}

async function endHeld(
  handle: ProcessHandle,
  isThere: () => boolean,
  { span, clock }: { readonly span: Milliseconds; readonly clock: Clock },
): Promise<boolean> {
  handle.send("SIGTERM");
  const deadline = clock.monotonic() + span;
  while (isThere()) {
    if (clock.monotonic() >= deadline) return false;
    await clock.pause(PAUSE);
  }
  return true;
}
