/** Runs a command of the user's for each alert: one after another, none for ever, whatever they do. */
import { type Absent, absent } from "../core/reading.ts";
import { printable, truncate } from "../core/text.ts";
import { formatDuration, milliseconds } from "../core/units.ts";
import type { Problem } from "../model/snapshot.ts";
import type { Alert } from "../model/watch.ts";
import { encodeWatchEvent } from "../model/watch_json.ts";
import type { ShellRun, World } from "../world/ports.ts";

/** How long one may take. */
export const HOOK_SPAN = milliseconds(30_000);
/** More than this many alerts wait for nobody: the command cannot keep up. */
const MOST_WAITING = 50;
/** Of what a command said, in the sentence that tells how it ended. */
const WORDS_WIDTH = 200;

interface Waiting {
  readonly alert: Alert;
  readonly at: string;
}

type HookWorld = Pick<World, "runShell" | "clock">;

/** Runs a command for one alert after another. */
export class AlertHook {
  readonly #line: string;
  readonly #world: HookWorld;
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #dropped = 0;
  #failure: Absent | undefined;

  constructor(line: string, world: HookWorld) {
    this.#line = line;
    this.#world = world;
  }

  /** What went wrong last, until a run goes well. */
  get problems(): readonly Problem[] {
    const message = "The command of --on-alert does not do its work";
    return this.#failure ? [{ subject: "--on-alert", reason: this.#failure, message }] : [];
  }

  /** Runs the command for this alert, when those before it are done. */
  push(waiting: Waiting): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#failure = absent("timed-out", `${++this.#dropped} alerts were left out: it cannot keep up`);
      return;
    }
    this.#waiting.push(waiting);
    this.#running ??= this.#work();
  }

  /** Settles once there is nothing left to run. What waits by the time that one run may take is not run any more. */
  async finish(): Promise<void> {
    if (this.#running === undefined) return;
    await Promise.race([this.#running, this.#world.clock.pause(HOOK_SPAN)]);
    this.#waiting.length = 0;
    await this.#running;
  }

  async #work(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const run = await this.#world.runShell(this.#line, { variables: variablesOf(next), span: HOOK_SPAN });
      this.#failure = failureOf(run);
    }
    this.#running = undefined;
  }
}

/** The facts of an alert as a command finds them in its environment: never a part of its line. */
export function variablesOf({ alert, at }: Waiting): Record<string, string> {
  const { kind, severity, gpu, process, since, message, evidence, advice } = alert;
  const facts = {
    KIND: kind,
    SEVERITY: severity,
    SINCE: since,
    MESSAGE: message,
    EVIDENCE: evidence.join("; "),
    ADVICE: advice,
    GPU: gpu === undefined ? "" : String(gpu.index),
    GPU_UUID: gpu?.uuid ?? "",
    PID: process === undefined ? "" : String(process.pid),
    COMMAND: process?.command ?? "",
  };
  return {
    ...Object.fromEntries(
      Object.entries(facts).map(([name, value]) => [`GPUCTL_ALERT_${name}`, printable(value)]),
    ),
    // JSON has escapes of its own.
    GPUCTL_ALERT_JSON: JSON.stringify(encodeWatchEvent({ event: "alert", at, alert })),
  };
}

function failureOf({ end, output }: ShellRun): Absent | undefined {
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  const words = last === "" ? "" : `: ${truncate(printable(last), WORDS_WIDTH)}`;
  switch (end.kind) {
    case "exited":
      return end.status === 0 ? undefined : absent("failed", `it ended with status ${end.status}${words}`);
    case "killed":
      return absent("failed", `it was ended by ${end.signal}${words}`);
    case "timed-out":
      return absent("timed-out", `it did not end within ${formatDuration(HOOK_SPAN)}${words}`);
    case "not-started":
      return absent("failed", `it cannot be started: ${end.message}`);
  }
}
