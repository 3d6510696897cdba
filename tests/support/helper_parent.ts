/** A program that opens a helper of a library, tells its pid, asks it once and waits: `helper_parent.ts LIBRARY`. */
import { writeSync } from "node:fs";
import process from "node:process";
import { openHelper } from "../../lib/source/helper/open_helper.ts";
import { helperOptions, within } from "./helpers.ts";

const helper = openHelper(helperOptions({ request: { source: "nvml", library: process.argv[2] ?? "" } }));
const sample = helper.sample(within(60_000));
writeSync(1, `helper ${helper.pid}\n`);
await sample;
