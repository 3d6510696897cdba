/** What the entry needs before there is a world: nothing that costs time. */
import process from "node:process";

export { ownArguments } from "./self.ts";

/** Ends the program now. Nothing is left to flush: all output is written with the system call itself. */
export function exit(status: number): never {
  process.exit(status);
}
