/** The systemd of a simulated server, as far as a reset needs one: the services of its faults file stop and start. */
import { kill } from "node:process";
import { errnoOf } from "../../core/errors.ts";
import type { ToolRun } from "../../model/tool_run.ts";
import { findOpenNodes } from "./open_nodes.ts";
import { readDescription, writeDescription } from "./server.ts";

/** What systemctl(1) ends with for a unit that is not loaded. */
const NOT_LOADED = 5;

/**
 * Stops or starts a service. One that stops takes its main process with it, if that has this server open.
 *
 * @throws {GpuctlError} if there is no such server
 */
export async function orderSimUnit(
  directory: string,
  order: "stop" | "start",
  unit: string,
): Promise<ToolRun> {
  const description = readDescription(directory);
  const services = description.faults.services ?? [];
  const service = services.find((each) => each.unit === unit);
  if (service === undefined) return ended(NOT_LOADED, `Unit ${unit} not loaded.\n`);
  const pid = service["main-pid"];
  if (order === "stop" && pid !== undefined) await endUser(directory, pid);
  const changed = services.map((each) => each.unit === unit ? { ...each, active: order === "start" } : each);
  writeDescription(directory, { ...description, faults: { ...description.faults, services: changed } });
  return ended(0, "");
}

async function endUser(directory: string, pid: number): Promise<void> {
  const users = await findOpenNodes(directory);
  if (![...users.keys()].some((user) => user === pid)) return;
  try {
    kill(pid, "SIGTERM");
  } catch (error) {
    if (errnoOf(error) !== "ESRCH") throw error;
  }
}

function ended(status: number, text: string): ToolRun {
  return { kind: "ended", status, signal: undefined, text };
}
