/** Runs the steps of a gate side by side, as many as there are processors, and tells of each as it ends. */
import { availableParallelism } from "node:os";
import { say } from "./say.ts";
import { sumTallies, type Tally } from "./tally.ts";

/** What a step came to. Its output is shown when it failed. */
export interface Outcome extends Tally {
  readonly output: string;
}

/** One step of a gate. */
export interface Job {
  readonly name: string;
  /** The job that must have passed before this one makes sense. It comes earlier in the list. */
  readonly needs?: string;
  /** Uses every processor by itself, or has time limits that would not hold beside others. */
  readonly runsAlone?: boolean;
  run(): Promise<Outcome>;
}

/** Runs all jobs, prints a line for each and the output of those that failed, and sums up. */
export async function runJobs(jobs: readonly Job[]): Promise<Tally> {
  const outcomes = new Map<string, Promise<Outcome>>();
  const runInTurn = async (queue: Job[]) => {
    for (let job = queue.shift(); job; job = queue.shift()) {
      const outcome = runOne(job, outcomes);
      outcomes.set(job.name, outcome);
      await outcome;
    }
  };
  const together = jobs.filter(({ runsAlone }) => !runsAlone);
  await Promise.all(Array.from({ length: availableParallelism() }, () => runInTurn(together)));
  await runInTurn(jobs.filter(({ runsAlone }) => runsAlone));
  return sumTallies(await Promise.all(outcomes.values()));
}

async function runOne(job: Job, outcomes: ReadonlyMap<string, Promise<Outcome>>): Promise<Outcome> {
  const needed = job.needs === undefined ? undefined : await outcomes.get(job.needs);
  const started = performance.now();
  const outcome = needed !== undefined && needed.failed > 0
    ? { passed: 0, failed: 1, skipped: [], notes: [`not run, as ${job.needs} failed`], output: "" }
    : await job.run();
  report(job.name, outcome, performance.now() - started);
  return outcome;
}

function report(name: string, { passed, failed, skipped, notes, output }: Outcome, spentMs: number): void {
  const counts = [[passed, "passed"], [failed, "failed"], [skipped.length, "skipped"]] as const;
  const shown = counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`).join(", ");
  const seconds = `${(spentMs / 1000).toFixed(1)} s`;
  say(`${failed === 0 ? "ok    " : "FAILED"}  ${name.padEnd(20)} ${seconds.padStart(8)}  ${shown}`.trimEnd());
  for (const test of skipped) say(`        skipped: ${test}`);
  for (const note of notes) say(`        ${note}`);
  if (failed > 0 && output !== "") say(output.trimEnd());
}
