/** What a diagnosis of a simulated server comes upon, as its TOML file says it. */
import * as v from "valibot";

/** Of the machine as a whole. */
export interface DoctorFaults {
  /** The libraries' version; the kernel module's own unless given. */
  readonly libraryVersion?: string;
  /** What opening a device node comes to; `missing` has none. */
  readonly deviceAccess: "granted" | "refused" | "refused-by-rules" | "missing";
  readonly mpsDaemon: "none" | "alive" | "dead";
  /** What is installed for containers; `stale` has a description of devices from another driver. */
  readonly containerTools: "none" | "complete" | "no-toolkit" | "stale";
}

export const DOCTOR_ENTRIES = {
  "library-version": v.exactOptional(
    v.pipe(v.string(), v.regex(/^\d{2,}\.\d+(?:\.\d+)?$/, "expected 580.159.04 or the like")),
  ),
  "device-access": v.optional(v.picklist(["granted", "refused", "refused-by-rules", "missing"]), "granted"),
  "mps-daemon": v.optional(v.picklist(["none", "alive", "dead"]), "none"),
  "container-tools": v.optional(v.picklist(["none", "complete", "no-toolkit", "stale"]), "none"),
};
const DOCTOR_KEYS = v.object(DOCTOR_ENTRIES);

/** Gives the keys their names in the program. */
export function nameDoctor(keys: v.InferOutput<typeof DOCTOR_KEYS>): DoctorFaults {
  const libraryVersion = keys["library-version"];
  return {
    ...libraryVersion !== undefined && { libraryVersion },
    deviceAccess: keys["device-access"],
    mpsDaemon: keys["mps-daemon"],
    containerTools: keys["container-tools"],
  };
}
