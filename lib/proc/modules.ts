/** Kernel modules that hold the driver, or that it holds. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import type { KernelModule } from "../model/reset_facts.ts";
import { isDenied, isGone } from "./files.ts";

/**
 * `nvidia_drm 126976 4 gdrdrv,nvidia_fs, Live 0x0000000000000000 (OE)`: name, size, references, users. A kernel that cannot
 * unload modules prints `-` for the last two.
 */
const LINE = /^(\S+) \d+ (\d{1,15}|-) (\S+)/;
/** The other driver of the same cards. */
const NOUVEAU = "nouveau";

/**
 * Reads the driver's own modules, those that use them, and nouveau. The numbers are those of /sys/module/NAME/refcnt and
 * the names those in its holders.
 *
 * @param root the machine's root directory
 */
export function readModules(root: string): Reading<readonly KernelModule[]> {
  try {
    return known(parseModules(readFileSync(join(root, "proc/modules"), "utf8")));
  } catch (error) {
    if (error instanceof SyntaxError) return absent("not-supported", error.message);
    if (isGone(error)) {
      return absent("not-supported", "there is no /proc/modules: this kernel shows no modules");
    }
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}

/**
 * Parses the text of /proc/modules (proc_modules(5)).
 *
 * @throws {SyntaxError} if a line is none
 */
export function parseModules(text: string): readonly KernelModule[] {
  const all = text.split("\n").filter((line) => line !== "").map(parseModule);
  const ours = new Set(all.flatMap(({ name, usedBy }) => isDriver(name) ? [name, ...usedBy] : []));
  return all.filter(({ name }) => ours.has(name) || name === NOUVEAU);
}

function isDriver(name: string): boolean {
  return name === "nvidia" || name.startsWith("nvidia_");
}

function parseModule(line: string): KernelModule {
  const [, name, references, users = ""] = LINE.exec(line) ?? [];
  if (name === undefined) {
    throw new SyntaxError(`Cannot parse "${line.slice(0, 80)}" as a line of /proc/modules`);
  }
  const usedBy = users.split(",").filter((user) => user !== "" && user !== "-" && !user.startsWith("["));
  return { name, ...references !== "-" && { references: Number(references) }, usedBy };
}

/** Whether nvidia_drm sets display modes, which keeps a GPU open for as long as it is loaded. */
export function readDrmModeset(root: string): Reading<boolean> {
  const path = join(root, "sys/module/nvidia_drm/parameters/modeset");
  try {
    const text = readFileSync(path, "utf8").trim();
    return text === "Y" || text === "N"
      ? known(text === "Y")
      : absent("implausible", `${path} says ${JSON.stringify(text.slice(0, 20))}`);
  } catch (error) {
    if (isGone(error)) {
      return existsSync(join(root, "sys/module"))
        ? absent("not-supported", "nvidia_drm is not loaded")
        : absent("hidden", "there is no /sys/module here");
    }
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}
