/** nvidia-smi as a source: for when the driver's library cannot be used, and for what it says beside it. */
import { messageOf } from "../../core/errors.ts";
import { type Absent, absent, type Reading } from "../../core/reading.ts";
import { type Milliseconds, milliseconds } from "../../core/units.ts";
import type { DriverReport } from "../../model/gpu.ts";
import type { Problem } from "../../model/snapshot.ts";
import type { Clock, LookOptions, Sampler } from "../../world/ports.ts";
import {
  findStuckHelper,
  isAlive,
  type ProcessFinder,
  recordStuckHelper,
  type StuckHelper,
  type StuckRecords,
} from "../helper/stuck.ts";
import { runSmi, type SmiRun, type StartSmi } from "./child.ts";
import { describeStatus } from "./exit_status.ts";
import type { SmiPlace } from "./locate.ts";
import { parseSmiText, type SmiReading } from "./parse.ts";
import { parseFieldNames, WANTED_FIELDS } from "./query_fields.ts";

/** What nvidia-smi is run with. */
export interface SmiOptions {
  readonly place: SmiPlace;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly processes: ProcessFinder;
  /** Where children that did not end are remembered, for this program and those after it. */
  readonly records: StuckRecords;
  readonly start?: StartSmi;
}

/** One look by nvidia-smi. */
export interface SmiLook {
  readonly report: Reading<DriverReport>;
  readonly problems: readonly Problem[];
}

const APPS_QUERY = "--query-compute-apps=gpu_uuid,gpu_bus_id,pid,process_name,used_gpu_memory";

const NO_ANSWER = absent("timed-out", "nvidia-smi gave no answer before the deadline");

/** Looks once. `deadline` is a moment of the clock; the answer comes at most a second after it. */
export function readSmiReport(options: SmiOptions & { readonly deadline: Milliseconds }): Promise<SmiLook> {
  return new SmiSource(options).read(options.deadline);
}

/** nvidia-smi, asked again and again. While a child of it is stuck in the driver none is started. */
export class SmiSource implements Sampler {
  readonly #options: SmiOptions;
  readonly #unknownFields = new Set<string>();
  #stuck: StuckHelper | undefined;
  #problems: readonly Problem[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: SmiOptions) {
    this.#options = options;
  }

  /** Never rejects for a driver that fails or hangs. Looks are made one after the other. */
  read(deadline: Milliseconds): Promise<SmiLook> {
    const look = this.#turn.then(() => this.#look(deadline));
    this.#turn = look.catch(() => undefined); // The caller has the error; the next look is another one.
    return look;
  }

  async sample({ within }: LookOptions): Promise<Reading<DriverReport>> {
    const { report, problems } = await this.read(milliseconds(this.#options.clock.monotonic() + within));
    this.#problems = problems;
    return report;
  }

  /** What the last sample could not read, or doubts, beside what its readings say. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
  }

  async #look(deadline: Milliseconds): Promise<SmiLook> {
    const stuck = this.#findStuck();
    if (stuck) return refuse(describeStuck(stuck));
    const run = await this.#run(["-q", "-x"], deadline);
    if (run.kind !== "ended") return refuse(this.#explain(run));
    const reading = parseRun(run.text);
    if (reading instanceof SyntaxError) return this.#lookByQueries(run, reading, deadline);
    return await this.#supplement(run, reading, deadline);
  }

  /** What the XML leaves out is fixed: MIG names and profiles, and the indexes where it does not show all GPUs. */
  async #supplement(run: EndedRun, reading: SmiReading, deadline: Milliseconds): Promise<SmiLook> {
    const gpus = reading.report.ok ? reading.report.value.gpus : [];
    const lacksMigName = gpus.some(({ migInstances: mig }) =>
      mig.ok && mig.value.some(({ uuid, profile }) => !uuid.startsWith("MIG-") || !profile.ok)
    );
    const lacksIndex = reading.problems.some(({ subject }) => subject === "GPU index");
    const texts = [run.text];
    if (lacksMigName || lacksIndex) {
      const list = await this.#run(["-L"], deadline);
      if (list.kind === "ended") texts.push(list.text);
      else if (list.kind === "stuck") this.#explain(list);
    }
    const joined = texts.length === 1 ? reading : parseRun(texts.join("\n"));
    return lookOf(joined instanceof SyntaxError ? reading : joined, run);
  }

  /** XML that cannot be read: a process name in it may hold a character that XML forbids. */
  async #lookByQueries(
    xml: EndedRun,
    cause: SyntaxError,
    deadline: Milliseconds,
  ): Promise<SmiLook> {
    const gpus = await this.#queryGpus(deadline);
    if (gpus.kind !== "ended") return refuse(this.#explain(gpus));
    const apps = await this.#run([APPS_QUERY, "--format=csv"], deadline);
    const text = apps.kind === "ended" ? `${gpus.text}\n${apps.text}` : gpus.text;
    const reading = parseRun(text);
    if (reading instanceof SyntaxError) {
      return refuse(describeStatus(gpus) ?? describeStatus(xml) ?? absent("implausible", messageOf(reading)));
    }
    const problems = apps.kind === "ended" ? [] : [problemOf(this.#explain(apps))];
    return lookOf(reading, gpus, [...problems, {
      subject: "nvidia-smi",
      reason: absent("implausible", cause.message),
      message: "The full report could not be read: GPUs and processes were asked for one after the other",
    }]);
  }

  async #queryGpus(deadline: Milliseconds): Promise<SmiRun> {
    let run = await this.#queryFields(deadline);
    let refused = refusedField(run);
    if (refused === undefined) return run;
    this.#unknownFields.add(refused);
    const help = await this.#run(["--help-query-gpu"], deadline);
    const known = help.kind === "ended" ? parseFieldNames(help.text) : new Set<string>();
    if (known.has("index")) {
      for (const field of WANTED_FIELDS) if (!known.has(field)) this.#unknownFields.add(field);
    }
    // Help that cannot be read leaves the refusals, which name one field each.
    for (let left = WANTED_FIELDS.length; left > 0; left--) {
      run = await this.#queryFields(deadline);
      refused = refusedField(run);
      if (refused === undefined || this.#unknownFields.has(refused)) return run;
      this.#unknownFields.add(refused);
    }
    return run;
  }

  #queryFields(deadline: Milliseconds): Promise<SmiRun> {
    const fields = WANTED_FIELDS.filter((field) => !this.#unknownFields.has(field));
    return this.#run([`--query-gpu=${fields.join(",")}`, "--format=csv"], deadline);
  }

  #run(words: readonly string[], deadline: Milliseconds): Promise<SmiRun> {
    const { place, clock, start } = this.#options;
    const span = deadline - clock.monotonic();
    if (span <= 0) return Promise.resolve({ kind: "timed-out" });
    return runSmi(place, words, start === undefined ? { span } : { span, start });
  }

  #explain(run: Exclude<SmiRun, EndedRun>): Absent {
    switch (run.kind) {
      case "not-started":
        return absent("failed", `${this.#options.place.path} cannot be started: ${messageOf(run.error)}`);
      case "too-long":
        return absent("implausible", "nvidia-smi wrote more than any machine has to say");
      case "timed-out":
        return NO_ANSWER;
      case "stuck":
        return this.#remember(run.pid);
    }
  }

  #findStuck(): StuckHelper | undefined {
    const { processes, records } = this.#options;
    if (this.#stuck && !isAlive(this.#stuck, processes)) this.#stuck = undefined;
    return this.#stuck ?? findStuckHelper(records, processes);
  }

  #remember(pid: number): Absent {
    const { clock, processes, records } = this.#options;
    const found = processes.findProcess(pid);
    if (!found) return NO_ANSWER;
    this.#stuck = { pid: found.pid, startTicks: found.startTicks, since: clock.now() };
    return describeStuck(this.#stuck, recordStuckHelper(records, this.#stuck));
  }
}

type EndedRun = Extract<SmiRun, { kind: "ended" }>;

function describeStuck({ pid, since }: StuckHelper, unrecorded?: string): Absent {
  const note = unrecorded === undefined ? "" : `; this could not be recorded: ${unrecorded}`;
  return absent(
    "timed-out",
    `process ${pid}, asked before, has been stuck in the driver since ${since}${note}`,
  );
}

function refuse(reason: Absent): SmiLook {
  return { report: reason, problems: [] };
}

/** An answer beside a status that is not 0 counts, and so does the status. */
function lookOf({ report, problems }: SmiReading, run: EndedRun, more: readonly Problem[] = []): SmiLook {
  const reason = report.ok ? describeStatus(run) : undefined;
  const failure = reason === undefined
    ? []
    : [{ subject: "nvidia-smi", reason, message: "nvidia-smi answered and still reported a failure" }];
  return { report, problems: [...problems, ...failure, ...more] };
}

function problemOf(reason: Absent): Problem {
  return { subject: "nvidia-smi", reason, message: "nvidia-smi did not say which processes use the GPUs" };
}

function parseRun(text: string): SmiReading | SyntaxError {
  try {
    // What has ended has said all that it had to say.
    return parseSmiText(`${text}\n`);
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}

function refusedField(run: SmiRun): string | undefined {
  if (run.kind !== "ended") return undefined;
  const reading = parseRun(run.text);
  return reading instanceof SyntaxError
    ? undefined
    : reading.refusals.find(({ id }) => id === "unknown-field")?.field;
}
