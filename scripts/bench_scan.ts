/**
 * Measures the look at every process's descriptors by itself, against the plain way to write it, fuser and lsof, in turn
 * in the same run, and how it grows with the processes.
 *
 *     deno run -A scripts/bench_scan.ts
 */
import { join } from "node:path";
import { startProgram } from "../tests/support/running_program.ts";
import { compileC, median, race } from "./bench/race.ts";
import { compile } from "./build.ts";
import { say } from "./say.ts";
import { ownProcessor, ROOT } from "./toolchain.ts";

const PROCESSES = 2000;
const TENTH = 200;
const DESCRIPTORS = 50;
const ROUNDS = 9;
/** At most this much of fuser's time. */
const GOAL = 0.7;
/** Hardly anybody has it open. */
const NODE = "/dev/full";
const SCAN = "dist/bench/descriptor_scan";

/** Median wall times in ms by contestant, among so many more processes. */
async function measure(processes: number): Promise<ReadonlyMap<string, number>> {
  const command = [compileC("scripts/bench/crowd.c"), String(processes), String(DESCRIPTORS)] as const;
  await using crowd = startProgram(command, { input: { isOpen: true } });
  await crowd.untilOutput(/^ready/);
  const scan = join(ROOT, SCAN);
  const results = race([
    { name: "by numbers", command: [scan, "numbers"] },
    { name: "by links", command: [scan, "links"] },
    { name: "fuser -v", command: ["/usr/bin/fuser", "-v", NODE], statuses: [0, 1] },
    { name: "lsof", command: ["/usr/bin/lsof", NODE], statuses: [0, 1] },
  ], { rounds: ROUNDS, warmups: 1, env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } });
  // It ends its children and waits for them; killed, it would leave them to init.
  crowd.endInput();
  await crowd.ended;
  return new Map(results.map(({ name, runs }) => [name, median(runs.map(({ wallMs }) => wallMs))]));
}

// As it is shipped: the runtime's start counts, the compiler's work does not.
compileC("scripts/bench/stopwatch.c");
compile("scripts/bench/descriptor_scan.ts", SCAN, ownProcessor());
const few = await measure(TENTH);
const many = await measure(PROCESSES);
say(`median ms of ${ROUNDS}   ${TENTH} processes   ${PROCESSES} processes, ${DESCRIPTORS} descriptors each`);
for (const [name, time] of many) {
  say(`${name.padEnd(16)}${(few.get(name) ?? NaN).toFixed(1).padStart(14)}${time.toFixed(1).padStart(17)}`);
}
const own = many.get("by numbers") ?? NaN;
const ofFuser = own / (many.get("fuser -v") ?? NaN);
say(`of fuser's time: ${ofFuser.toFixed(2)} (goal: at most ${GOAL}, ${ofFuser <= GOAL ? "met" : "MISSED"})`);
say(`of lsof's time: ${(own / (many.get("lsof") ?? NaN)).toFixed(2)}`);
say(`ten times the processes take ${(own / (few.get("by numbers") ?? NaN)).toFixed(1)} times as long`);
