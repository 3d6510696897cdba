import { emptyPart, type LineFormat, type RawExtent } from "./raw.ts";
import { findRefusal } from "./refusals.ts";

/** Lines that follow a refusal and add nothing to it. */
const ECHO =
  /^Failed to properly shut down NVML: |^NVML library version: |^Please (?:also try|reboot)|^Reboot the system/;
const LIBRARY_VERSION = /^NVML library version: (\S{1,40})$/;

/** Refusals, each with the lines that belong to it. */
export const REFUSAL_FORMAT: LineFormat = {
  begins: (lines, at) => findRefusal(lines[at] ?? "") !== undefined,
  read(lines, at): RawExtent {
    const part = emptyPart("refusal", at);
    const refusal = findRefusal(lines[at] ?? "");
    let end = at + 1;
    let version: string | undefined;
    for (let next = end; next < lines.length && next < at + 6; next++) {
      const text = (lines[next] ?? "").trim();
      version ??= LIBRARY_VERSION.exec(text)?.[1];
      if (text !== "" && !ECHO.test(text)) break;
      if (text !== "") end = next + 1;
    }
    if (version !== undefined) part.machine.set("nvml_version", version);
    if (refusal) {
      part.refusal = version === undefined ? refusal : { ...refusal, text: `${refusal.text} (${version})` };
    }
    return { part, end };
  },
};
