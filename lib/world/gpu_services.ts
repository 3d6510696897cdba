/** Services that keep GPUs open, as systemd knows them. */
import { GpuctlError } from "../core/errors.ts";
import { isPid, type Pid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import { findServiceKind, GPU_UNIT_GLOBS } from "../model/gpu_units.ts";
import type { GpuService } from "../model/reset_facts.ts";
import { findSystemctl, runSystemctl, type SystemdPlaces } from "./systemd.ts";

/** A manager that is busy with thousands of units answers in less. */
const DEADLINE = milliseconds(5000);

/** Asks systemd for the services that are installed or run; absent where it does not run the machine. */
export async function readGpuServices(
  places: SystemdPlaces,
  deadline: Milliseconds = DEADLINE,
): Promise<Reading<readonly GpuService[]>> {
  const systemctl = findSystemctl(places);
  if (!systemctl.ok) return systemctl;
  const words = ["show", "--property=Id,Names,LoadState,ActiveState,MainPID", "--", ...GPU_UNIT_GLOBS];
  try {
    return known(parseUnits(await runSystemctl(systemctl.value, words, deadline)));
  } catch (error) {
    if (error instanceof GpuctlError) return absent("failed", error.message);
    throw error;
  }
}

/**
 * Parses what `systemctl show` prints: a block of `Name=value` lines for each unit, with a blank line between two. Units
 * that are not installed are left out, and what several names led to is there once.
 */
export function parseUnits(text: string): readonly GpuService[] {
  const services = text.split(/\n{2,}/).flatMap((block) => findService(parseBlock(block)));
  return [...new Map(services.map((service) => [service.unit, service])).values()];
}

function parseBlock(block: string): ReadonlyMap<string, string> {
  return new Map(
    Array.from(block.matchAll(/^([A-Za-z]+)=(.*)$/gm), ([, name = "", value = ""]) => [name, value]),
  );
}

function findService(properties: ReadonlyMap<string, string>): GpuService[] {
  const unit = properties.get("Id") ?? "";
  // `display-manager.service` leads to whichever there is, and an alias of its own does not tell what it is.
  const names = [unit, ...(properties.get("Names") ?? "").split(" ")];
  const kind = names.map(findServiceKind).find((kind) => kind !== undefined);
  const state = properties.get("ActiveState");
  if (kind === undefined || state === undefined) return [];
  const isActive = state !== "inactive" && state !== "failed";
  // A unit whose file was removed may still run; one that neither runs nor has a file is a mere name.
  if (!isActive && properties.get("LoadState") !== "loaded") return [];
  return [{ unit, kind, isActive, mainPid: readPid(properties.get("MainPID")) }];
}

function readPid(text: string | undefined): Reading<Pid> {
  const value = Number(text);
  return isPid(value) ? known(value) : absent("not-reported", "it has no main process");
}
