/** Programs that tests hold gpuctl against and that a contributor's machine may lack. */
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/**
 * Options of a test that needs a program: without it the test is skipped and says so. In CI nothing is skipped: there the
 * test runs, and fails.
 */
export function needsProgram(program: string, debianPackage: string): { readonly skip?: string } {
  if (process.env["CI"] || isOnPath(program)) return {};
  return { skip: `needs ${program}: apt-get install ${debianPackage}` };
}

function isOnPath(program: string): boolean {
  return (process.env["PATH"] ?? "").split(":").some((folder) => isExecutable(join(folder, program)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // Not there, or not for this user: either way it cannot be run.
  }
}
