/** Asks the driver of the simulated server in a directory once, and says what it answered. */
import { writeSync } from "node:fs";
import process from "node:process";
import { openSimDriver } from "../../../../lib/source/sim/driver.ts";

using driver = await openSimDriver(process.argv[2] ?? "");
writeSync(1, "asked\n");
writeSync(1, `${JSON.stringify(driver.read({ withUtilization: false }))}\n`);
