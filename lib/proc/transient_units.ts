import { readdirSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { isDenied, isGone } from "./files.ts";

/** Where systemd keeps the files of units that were made at run time, as systemd-run(1) makes them (systemd.unit(5)). */
const FOLDER = "run/systemd/transient";

/** The units of this machine that have no other file; none where no systemd runs. */
export function readTransientUnits(root = "/"): Reading<ReadonlySet<string>> {
  try {
    return known(new Set(readdirSync(join(root, FOLDER))));
  } catch (error) {
    if (isGone(error)) return known(new Set());
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}
