/** Puts units in place and takes them away, and never touches one that somebody else wrote. */
import { GpuctlError } from "../core/errors.ts";
import { CLEAN_SERVICE, CLEAN_TIMER, type FoundUnit, isOwnUnit, type UnitFile } from "../model/unit_file.ts";
import type { Systemd } from "../world/ports.ts";

export interface InstallOptions {
  readonly units: readonly UnitFile[];
  /** The program that they run as root. */
  readonly program: string;
  /** Enable the timer, and start it. */
  readonly startsNow: boolean;
  /** Replace units of somebody else's too. */
  readonly force: boolean;
}

/** What systemd says of a timer: UnitFileState and ActiveState of org.freedesktop.systemd1(5). */
export interface TimerState {
  readonly isEnabled: boolean;
  readonly isActive: boolean;
}

export interface Installation {
  readonly units: readonly { readonly path: string; readonly isNew: boolean }[];
  readonly timer: TimerState;
}

/**
 * Writes the units, has systemd read them, and asks it what came of that.
 *
 * @throws {GpuctlError} `refused` before anything is changed; `partial` if systemd does not do its part
 */
export async function installUnits(
  { units, program, startsNow, force }: InstallOptions,
  systemd: Systemd,
): Promise<Installation> {
  systemd.checkProgram(program);
  const found = units.map((unit) => ({ unit, before: systemd.findUnit(unit.name) }));
  if (!force) {
    found.forEach(({ unit, before }) => refuseForeign(`replace ${systemd.unitPath(unit.name)}`, before));
  }
  const done = found.map(({ unit, before }) => {
    const isNew = before?.kind !== "file" || before.text !== unit.text;
    if (isNew) systemd.writeUnit(unit);
    return { path: systemd.unitPath(unit.name), isNew };
  });
  await systemd.order(["daemon-reload"]);
  if (startsNow) await systemd.order(["enable", "--now", CLEAN_TIMER]);
  const timer = await readTimerState(systemd);
  if (startsNow && !(timer.isEnabled && timer.isActive)) {
    throw new GpuctlError(
      "partial",
      `Cannot start ${CLEAN_TIMER}: systemd was told to, and it does not run`,
      {
        hint: `systemctl status ${CLEAN_TIMER} has the reason`,
      },
    );
  }
  return { units: done, timer };
}

/**
 * Stops and disables the timer and removes both units. A run that is at work ends by itself.
 *
 * @returns the paths that were removed
 * @throws {GpuctlError} `refused` before anything is changed; `partial` if systemd does not do its part
 */
export async function removeUnits(
  { force }: { readonly force: boolean },
  systemd: Systemd,
): Promise<readonly string[]> {
  const names = [CLEAN_TIMER, CLEAN_SERVICE].filter((name) => {
    const found = systemd.findUnit(name);
    if (!force) refuseForeign(`remove ${systemd.unitPath(name)}`, found);
    return found !== undefined;
  });
  if (names.length === 0) return [];
  if (names.includes(CLEAN_TIMER)) await systemd.order(["disable", "--now", CLEAN_TIMER]);
  names.forEach((name) => systemd.removeUnit(name));
  await systemd.order(["daemon-reload"]);
  // A run that failed is remembered although its unit is gone. As a pattern it may match nothing.
  await systemd.order(["reset-failed", "gpuctl-clean.*"]);
  return names.map((name) => systemd.unitPath(name));
}

function refuseForeign(act: string, found: FoundUnit | undefined): void {
  if (found === undefined || isOwnUnit(found)) return;
  const what = found.kind === "link" ? `it is a link to ${found.target}` : "gpuctl systemd did not write it";
  throw new GpuctlError("refused", `Cannot ${act}: ${what}`, {
    hint: "with --force it is done all the same",
  });
}

async function readTimerState(systemd: Systemd): Promise<TimerState> {
  const shown = await systemd.order(["show", "--property=ActiveState,UnitFileState", CLEAN_TIMER]);
  const lines = shown.split("\n");
  return {
    isEnabled: lines.includes("UnitFileState=enabled"),
    isActive: lines.includes("ActiveState=active"),
  };
}
