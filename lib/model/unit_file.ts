/** Unit files of systemd's, and how ours are known again. */

/** A unit file under its own name. */
export interface UnitFile {
  readonly name: string;
  readonly text: string;
}

/** What stands under a unit's name: a file, or a link, which is how systemd masks a unit and how an alias is made. */
export type FoundUnit =
  | { readonly kind: "file"; readonly text: string }
  | { readonly kind: "link"; readonly target: string };

/** The service that cleans, and the timer that starts it. */
export const CLEAN_SERVICE = "gpuctl-clean.service";
export const CLEAN_TIMER = "gpuctl-clean.timer";

/** How every unit file of ours begins, in every version. */
export const UNIT_MARK = "# Written by gpuctl systemd";

/** Says whether this program wrote what stands there. A link it never makes. */
export function isOwnUnit(found: FoundUnit): boolean {
  return found.kind === "file" && found.text.startsWith(UNIT_MARK);
}
