/** The simulator as a program of its own, so that its scenes run under either runtime and without the rest of gpuctl. */
import { writeSync } from "node:fs";
import process from "node:process";
import { simCommand } from "../../../../commands/sim.ts";
import { EXIT, GpuctlError } from "../../../../lib/core/errors.ts";
import { openSimulation } from "../../../../lib/source/sim/simulation.ts";
import { realClock } from "../../../../lib/world/clock.ts";
import { SIM_PROGRAM } from "./program_path.ts";

const variable = (name: string) => process.env[name];
const terminal = { out: (text: string) => void writeSync(1, text) };
const simulation = openSimulation({ self: SIM_PROGRAM, terminal, clock: realClock, variable });
let status: number = EXIT.ok;
const command = simCommand(
  { terminal, simulation },
  (ending) => status = typeof ending === "string" ? EXIT[ending] : ending.status,
);
try {
  await command.parseAsync(process.argv.slice(3), { from: "user" });
} catch (error) {
  if (!(error instanceof GpuctlError)) throw error;
  writeSync(2, `gpuctl: ${error.message}\n`);
  status = EXIT[error.failure];
}
process.exit(status);
