/**
 * Measures the look at every process's descriptors by itself, against the plain way to write it, fuser and lsof, in turn
 * in the same run, and how it grows with the processes.
 *
 *     deno run -A scripts/bench_scan.ts
 *
 * With `numbers` or `links` it is one of the contestants: it scans once, under the runtime that is shipped, and ends.
 */
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "./toolchain.ts";

/** A node that every machine has and hardly anybody opens: the look has to be at everything, and finds little. */
const NODE = { path: "/dev/full", major: 1, minor: 7 } as const;
const PROCESSES = 2000;
const TENTH = 200;
const DESCRIPTORS = 50;
const ROUNDS = 9;
/** The goal of "Numbers to reach": at most this much of fuser's time. */
const GOAL = 0.7;

/** The way of the product: device numbers, by statx(2). */
async function scanNumbers(): Promise<number> {
  const [{ milliseconds }, { openDescriptorReader }, { openLibc }, { scanDescriptors }] = await Promise.all([
    import("../lib/core/units.ts"),
    import("../lib/native/descriptor_reader.ts"),
    import("../lib/native/libc.ts"),
    import("../lib/proc/descriptors.ts"),
  ]);
  const recogniser = {
    ofDevice: (major: number, minor: number) =>
      major === NODE.major && minor === NODE.minor ? { kind: "other" as const } : undefined,
    ofFile: () => undefined,
    ofPath: () => undefined,
  };
  using libc = await openLibc();
  using reader = openDescriptorReader(libc, "/proc");
  const clock = { monotonic: () => milliseconds(performance.now()) };
  const deadline = milliseconds(Number.MAX_SAFE_INTEGER);
  return scanDescriptors({ reader, recogniser, clock, deadline, procRoot: "/proc" }).held.size;
}

/** The plain way: the names that links lead to. */
function scanLinks(): number {
  const leadsThere = (link: string) => {
    try {
      return readlinkSync(link) === NODE.path;
    } catch {
      return false; // Closed meanwhile.
    }
  };
  const listOf = (pid: string) => {
    try {
      return readdirSync(`/proc/${pid}/fd`);
    } catch {
      return []; // Gone meanwhile, or not ours to see.
    }
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name))
    .filter((pid) => listOf(pid).filter((name) => leadsThere(`/proc/${pid}/fd/${name}`)).length > 0).length;
}

async function measure(processes: number): Promise<ReadonlyMap<string, number>> {
  const [{ race, compileC, median }, { startProgram }, { ownBun }] = await Promise.all([
    import("./bench/race.ts"),
    import("../tests/support/running_program.ts"),
    import("./toolchain.ts"),
  ]);
  const command = [compileC("scripts/bench/crowd.c"), String(processes), String(DESCRIPTORS)] as const;
  await using crowd = startProgram(command, { input: { isOpen: true } });
  await crowd.untilOutput(/^ready/);
  const bun = join(ROOT, ownBun());
  const script = join(ROOT, "scripts/bench_scan.ts");
  const results = race([
    { name: "by numbers", command: [bun, script, "numbers"] },
    { name: "by links", command: [bun, script, "links"] },
    { name: "fuser -v", command: ["/usr/bin/fuser", "-v", NODE.path], statuses: [0, 1] },
    { name: "lsof", command: ["/usr/bin/lsof", NODE.path], statuses: [0, 1] },
  ], { rounds: ROUNDS, warmups: 1, env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } });
  // It ends its children and waits for them; killed, it would leave them to init.
  crowd.endInput();
  await crowd.ended;
  return new Map(results.map(({ name, runs }) => [name, median(runs.map(({ wallMs }) => wallMs))]));
}

async function compare(): Promise<void> {
  const { say } = await import("./say.ts");
  const [few, many] = [await measure(TENTH), await measure(PROCESSES)];
  say(
    `median ms of ${ROUNDS}   ${TENTH} processes   ${PROCESSES} processes, ${DESCRIPTORS} descriptors each`,
  );
  for (const [name, time] of many) {
    say(`${name.padEnd(16)}${(few.get(name) ?? NaN).toFixed(1).padStart(14)}${time.toFixed(1).padStart(17)}`);
  }
  const own = many.get("by numbers") ?? NaN;
  const ofFuser = own / (many.get("fuser -v") ?? NaN);
  say(
    `of fuser's time: ${ofFuser.toFixed(2)} (goal: at most ${GOAL}, ${ofFuser <= GOAL ? "met" : "MISSED"})`,
  );
  say(`of lsof's time: ${(own / (many.get("lsof") ?? NaN)).toFixed(2)}`);
  say(`ten times the processes take ${(own / (few.get("by numbers") ?? NaN)).toFixed(1)} times as long`);
}

const [mode] = process.argv.slice(2);
if (mode === "numbers") await scanNumbers();
else if (mode === "links") scanLinks();
else await compare();
