/**
 * Measures gpuctl against other programs, all in turn in the same run.
 *
 *     deno task bench                      every suite that this machine can run
 *     deno task bench start scan           only these
 *     deno task bench --json >numbers.json the raw numbers, with the machine and the date
 */
import { cpus, release, totalmem } from "node:os";
import process from "node:process";
import { type Contestant, median, race, type Result } from "./bench/race.ts";
import { type Finding, judgeGrowth, SUITES } from "./bench/suites.ts";
import { say, warn } from "./say.ts";

interface Report {
  readonly suite: string;
  readonly results: readonly Result[];
  readonly findings: readonly Finding[];
}

const words = process.argv.slice(2);
const wantsJson = words.includes("--json");
const asked = words.filter((word) => word !== "--json");
const unknown = asked.filter((word) => !SUITES.some(({ name }) => name === word));
if (unknown.length > 0) {
  warn(
    `bench: no suite is called ${unknown.join(", ")}; there are ${SUITES.map(({ name }) => name).join(", ")}`,
  );
  process.exit(2);
}

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const reports: Report[] = [];
for (const { name, set } of SUITES.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  await using stage = new AsyncDisposableStack();
  const suite = await set(stage);
  if (typeof suite === "string") {
    warn(`${name}: not measured, ${suite}`);
    continue;
  }
  const results = race(suite.contestants, {
    rounds: suite.rounds,
    warmups: 1,
    env: { PATH, LC_ALL: "C" },
  });
  const report = {
    suite: name,
    results,
    findings: suite.judge(new Map(results.map((result) => [result.name, result]))),
  };
  reports.push(report);
  if (!wantsJson) show(report, suite.contestants);
}
const growth = judgeGrowth(new Map(reports.map(({ suite, results }) => [suite, results])));
if (wantsJson) {
  const takenAt = new Date().toISOString();
  say(JSON.stringify({ takenAt, machine: machine(), reports, growth }, undefined, 2));
} else {
  growth.forEach(showFinding);
}

function show({ suite, results, findings }: Report, contestants: readonly Contestant[]): void {
  const width = Math.max(...contestants.map(({ name }) => name.length), 12);
  say(`${suite.padEnd(width)}  median ms   cpu ms  peak MiB  runs`);
  for (const { name, runs } of results) {
    const wall = median(runs.map(({ wallMs }) => wallMs)).toFixed(1).padStart(9);
    const cpu = median(runs.map(({ cpuMs }) => cpuMs)).toFixed(1).padStart(7);
    const peak = (Math.max(...runs.map(({ peakKiB }) => peakKiB)) / 1024).toFixed(1).padStart(8);
    say(`${name.padEnd(width)}  ${wall}  ${cpu}  ${peak}  ${String(runs.length).padStart(4)}`);
  }
  findings.forEach(showFinding);
  say("");
}

function showFinding({ what, value, unit, atMost }: Finding): void {
  const verdict = value <= atMost ? "met" : "MISSED";
  say(`  ${what}: ${value.toFixed(2)} ${unit} (goal: at most ${atMost} ${unit}, ${verdict})`);
}

function machine(): Readonly<Record<string, string | number>> {
  const [processor] = cpus();
  return {
    processor: processor?.model ?? "unknown",
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
  };
}
