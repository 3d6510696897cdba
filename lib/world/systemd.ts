/** systemd: its units are files, and orders go through systemctl, started by its absolute path and without a shell. */
import { execFile } from "node:child_process";
import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { GpuctlError, messageOf } from "../core/errors.ts";
import { cannotRead, stateOf } from "../core/file_errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { quoteArguments, truncate } from "../core/text.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { FoundUnit } from "../model/unit_file.ts";
import { replaceFile } from "./files.ts";
import type { Systemd } from "./ports.ts";

/** Where systemd lies on a machine. */
export interface SystemdPlaces {
  /** There while systemd runs the machine: sd_booted(3). */
  readonly booted: string;
  /** Candidates for systemctl, absolute. */
  readonly systemctl: readonly string[];
  /** Where an administrator's units lie: systemd.unit(5). */
  readonly units: string;
}

export const SYSTEMD_PLACES: SystemdPlaces = {
  booted: "/run/systemd/system",
  systemctl: ["/usr/bin/systemctl", "/bin/systemctl", "/run/current-system/sw/bin/systemctl"],
  units: "/etc/systemd/system",
};

export interface SystemdOptions {
  readonly uid: number;
  /** How long an order may take: a reload of thousands of units takes seconds. */
  readonly deadline?: Milliseconds;
}

const DEADLINE = milliseconds(60_000);
/** Of an order, in a message: some name dozens of units. */
const SHOWN_CHARACTERS = 80;
/** Units are no secret, and systemd-analyze of every user reads them. */
const FOR_EVERYBODY = 0o644;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_OTHERS = 0o002;
/** Groups below are the distribution's own, for administrators: Debian policy 9.2.2, "0-99". */
const FIRST_ORDINARY_GROUP = 100;

/**
 * Opens the systemd of this machine.
 *
 * @throws {GpuctlError} `denied` for all but root; `unavailable` where systemd does not run the machine
 */
export function openSystemd(
  places: SystemdPlaces,
  { uid, deadline = DEADLINE }: SystemdOptions,
): Systemd {
  if (uid !== 0) {
    throw new GpuctlError("denied", "Cannot change the units of systemd: only root may", {
      hint: "run it with sudo; gpuctl systemd print shows the units to everybody",
    });
  }
  const systemctl = findSystemctl(places);
  if (!systemctl.ok) {
    throw new GpuctlError("unavailable", `Cannot change the units of systemd: ${systemctl.detail}`, {
      hint: "any scheduler can run: gpuctl clean-zombies --yes --quiet --min-age 5m",
    });
  }
  const unitPath = (name: string) => join(places.units, name);
  return {
    unitPath,
    findUnit: (name) => findUnit(unitPath(name)),
    writeUnit: ({ name, text }) => replaceFile(unitPath(name), text, FOR_EVERYBODY),
    removeUnit: (name) => removeUnit(unitPath(name)),
    checkProgram,
    order: (words) => runSystemctl(systemctl.value, words, deadline),
  };
}

/** Where systemctl lies; absent where systemd does not run the machine. */
export function findSystemctl(places: SystemdPlaces): Reading<string> {
  const systemctl = places.systemctl.find((path) => existsSync(path));
  if (systemctl === undefined) return absent("not-supported", "systemctl is not installed");
  return existsSync(places.booted)
    ? known(systemctl)
    : absent("not-supported", "systemd does not run this machine");
}

function findUnit(path: string): FoundUnit | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  try {
    return found.isSymbolicLink()
      ? { kind: "link", target: readlinkSync(path) }
      : { kind: "file", text: readFileSync(path, "utf8") };
  } catch (error) {
    throw cannotRead(path, error);
  }
}

function removeUnit(path: string): void {
  try {
    // systemctl disable removes a link by itself.
    rmSync(path, { force: true });
  } catch (error) {
    throw new GpuctlError("partial", `Cannot remove ${path}: ${stateOf(error)}`, { cause: error });
  }
}

/** A unit runs its program as root: whoever can replace the program, or a folder on the way to it, is root. */
function checkProgram(path: string): void {
  const real = realPathOf(path);
  const { mode } = statSync(real);
  if (!statSync(real).isFile() || (mode & 0o111) === 0) {
    throw new GpuctlError("refused", `Cannot run ${path} from a unit: it is no program`);
  }
  for (let part = real;; part = dirname(part)) {
    const reason = whoElseMayWrite(part);
    if (reason !== undefined) {
      throw new GpuctlError("refused", `Cannot run ${path} from a unit: ${part} ${reason}`, {
        hint: "a unit of root's needs a program that only root can replace, such as /usr/local/bin/gpuctl",
      });
    }
    if (part === dirname(part)) return;
  }
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new GpuctlError("refused", `Cannot run ${path} from a unit: ${stateOf(error)}`, { cause: error });
  }
}

function whoElseMayWrite(path: string): string | undefined {
  const { uid, gid, mode } = statSync(path);
  if (uid !== 0) return `belongs to user ${uid}`;
  if ((mode & WRITABLE_BY_OTHERS) !== 0) return "can be written to by everybody";
  if ((mode & WRITABLE_BY_GROUP) !== 0 && gid >= FIRST_ORDINARY_GROUP) {
    return `can be written to by group ${gid}`;
  }
  return undefined;
}

/**
 * Gives systemctl an order and returns what it printed.
 *
 * @throws {GpuctlError} `partial` with its words if it refuses or does not answer in time
 */
export function runSystemctl(
  systemctl: string,
  words: readonly string[],
  deadline: Milliseconds,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = {
    encoding: "utf8",
    timeout: deadline,
    killSignal: "SIGKILL",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", SYSTEMD_COLORS: "0" },
  } as const;
  execFile(systemctl, ["--no-pager", "--no-ask-password", ...words], options, (error, stdout, stderr) => {
    if (error === null) return resolve(stdout);
    const reason = error.signal === "SIGKILL"
      ? `no answer within ${deadline} ms`
      : stderr.trim() || messageOf(error);
    reject(
      new GpuctlError(
        "partial",
        `Cannot run systemctl ${truncate(quoteArguments(words), SHOWN_CHARACTERS)}: ${reason}`,
        {
          cause: error,
        },
      ),
    );
  });
  return promise;
}
