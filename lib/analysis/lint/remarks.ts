/** Findings that are the same wherever they occur. */
import { nearest, printable, truncate } from "../../core/text.ts";
import { READ_BY_CUDA } from "./environment.ts";
import type { Finding } from "./finding.ts";

/** A finding without its place. */
export type Remark = Pick<Finding, "rule" | "severity" | "isDecided" | "message" | "fix">;

/** By what they are about. */
export const REMARKS = {
  unclear: {
    rule: "dynamic-environment",
    severity: "note",
    isDecided: false,
    message:
      "A variable is set whose name the source does not show; whether it is one that CUDA reads cannot be told",
    fix: "Set CUDA_VISIBLE_DEVICES by name, or before the program starts",
  },
  replace: {
    rule: "environment-replaced",
    severity: "warning",
    isDecided: true,
    message: "os.environ is replaced by another object: from here on, what is set in it never reaches CUDA",
    fix: "Change it in place: os.environ.update(...)",
  },
  subshell: {
    rule: "set-in-subshell",
    severity: "warning",
    isDecided: true,
    message: "The variable is set in a shell that ends with this command; the program itself does not get it",
    fix: "Assign it in Python: os.environ[...] = ..., before the first import of a framework",
  },
  code: {
    rule: "dynamic-code",
    severity: "note",
    isDecided: false,
    message: "Code that is made at run time runs here; what it imports and sets cannot be told",
    fix: "Check that code by itself, or start the program with CUDA_VISIBLE_DEVICES already set",
  },
  import: {
    rule: "dynamic-import",
    severity: "note",
    isDecided: false,
    message:
      "A module is imported whose name the source does not show; whether it starts CUDA cannot be told",
    fix: "Set CUDA_VISIBLE_DEVICES before it, at best before the program starts",
  },
} as const satisfies Record<string, Remark>;

/** What to say of a variable that CUDA does not read and that somebody may have taken for one that it reads. */
export function remarkOnName(variable: string): Remark | undefined {
  if (variable === "NVIDIA_VISIBLE_DEVICES") {
    return {
      rule: "wrong-variable",
      severity: "warning",
      isDecided: true,
      message:
        "NVIDIA_VISIBLE_DEVICES is read by the container runtime before the program starts; setting it here has no effect",
      fix: "Set CUDA_VISIBLE_DEVICES, or give the variable to the container",
    };
  }
  if (!variable.toUpperCase().startsWith("CUDA")) return undefined;
  const meant = nearest(truncate(variable.toUpperCase(), 60), READ_BY_CUDA);
  if (meant === undefined) return undefined;
  return {
    rule: "wrong-variable",
    severity: "warning",
    isDecided: true,
    message: `CUDA does not read "${printable(truncate(variable, 40))}"; its variable is ${meant}`,
    fix: `Write ${meant}`,
  };
}
