import { messageOf } from "../../core/errors.ts";
import { type Absent, absent, known, type Reading, valueOf } from "../../core/reading.ts";
import { formatDuration, type Milliseconds } from "../../core/units.ts";
import type { DriverReport } from "../../model/gpu.ts";
import type { Clock, LookOptions, Sampler } from "../../world/ports.ts";
import { encodeStart, type HelperRequest } from "./frames.ts";
import { type ChildEnding, type PipedChild, startPipedChild } from "./piped_child.ts";
import { HelperSession, type Reply } from "./session.ts";
import {
  findStuckHelper,
  isAlive,
  type ProcessFinder,
  recordStuckHelper,
  type StuckHelper,
  type StuckRecords,
} from "./stuck.ts";

/** What a helper is opened with. */
export interface HelperOptions {
  /** How this program starts itself again; the word `helper` and its argument are added. */
  readonly command: readonly string[];
  readonly request: HelperRequest;
  /** This program's own pid. */
  readonly parentPid: number;
  readonly clock: Pick<Clock, "now">;
  readonly processes: ProcessFinder;
  readonly records: StuckRecords;
}

/** A sampler whose driver calls are made in another process. */
export interface Helper extends Sampler {
  /** Of the helper that runs now. It opens GPUs and is no finding. */
  readonly pid: number | undefined;
  /**
   * Disposes of the helper without waiting until it is gone, for a program that is about to end itself. Before a reset
   * that is not enough: the GPU may still be open.
   */
  leave(): void;
}

/**
 * Starts a helper, which begins with the driver at once, and returns before it has begun. While an earlier helper is
 * stuck in the driver none is started, and each sample says so.
 */
export function openHelper(options: HelperOptions, startChild: StartChild = startPipedChild): Helper {
  return new HelperSampler(options, startChild);
}

type StartChild = (command: readonly string[]) => PipedChild;

class HelperSampler implements Helper {
  readonly #options: HelperOptions;
  readonly #startChild: StartChild;
  #session: HelperSession | undefined;
  #stuck: StuckHelper | undefined;
  #turn: Promise<unknown> | undefined;
  #isClosed = false;

  constructor(options: HelperOptions, startChild: StartChild) {
    this.#options = options;
    this.#startChild = startChild;
    this.#session = valueOf(this.#start());
  }

  get pid(): number | undefined {
    return this.#session?.pid;
  }

  sample(options: LookOptions): Promise<Reading<DriverReport>> {
    // A question is written before this returns, for the caller may then be busy with /proc for a while.
    const turn = this.#turn === undefined ? this.#ask(options) : this.#turn.then(() => this.#ask(options));
    this.#turn = turn;
    return turn.finally(() => {
      if (this.#turn === turn) this.#turn = undefined;
    });
  }

  leave(): void {
    this.#isClosed = true;
    this.#session?.leave();
    this.#session = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) await this.#end(session, this.#options.clock.now());
  }

  async #ask({ within, ...extras }: LookOptions): Promise<Reading<DriverReport>> {
    if (this.#isClosed) return absent("failed", "the helper process has been closed");
    const started = this.#session === undefined ? this.#start() : known(this.#session);
    if (!started.ok) return started;
    const session = started.value;
    this.#session = session;
    const { clock } = this.#options;
    const askedAt = clock.now();
    const reply = await session.ask({ ...extras, span: within });
    if (reply.kind === "answered") return reply.report;
    this.#session = undefined;
    return await this.#end(session, askedAt) ?? explain(reply, within);
  }

  #start(): Reading<HelperSession> {
    const { command, request, parentPid, processes, records } = this.#options;
    if (this.#stuck !== undefined && !isAlive(this.#stuck, processes)) this.#stuck = undefined;
    const stuck = this.#stuck ?? findStuckHelper(records, processes);
    if (stuck !== undefined) return describeStuck(stuck);
    try {
      const child = this.#startChild([...command, "helper", encodeStart({ request, parentPid })]);
      return known(new HelperSession(child));
    } catch (error) {
      return absent("failed", `the helper process cannot be started: ${messageOf(error)}`);
    }
  }

  /** Ends a session. What is still there after SIGKILL is stuck in the kernel, and is remembered and told. */
  async #end(session: HelperSession, since: string): Promise<Absent | undefined> {
    if (await session.end()) return undefined;
    const { processes, records } = this.#options;
    const found = processes.findProcess(session.pid);
    if (found === undefined) return undefined;
    const { pid, startTicks } = found;
    this.#stuck = { pid, startTicks, since };
    return describeStuck(this.#stuck, recordStuckHelper(records, this.#stuck));
  }
}

function describeStuck({ pid, since }: StuckHelper, unrecorded?: string): Absent {
  const note = unrecorded === undefined ? "" : `; this could not be recorded: ${unrecorded}`;
  return absent("timed-out", `helper ${pid} has been stuck in the driver since ${since}${note}`);
}

function explain(reply: Exclude<Reply, { kind: "answered" }>, span: Milliseconds): Absent {
  switch (reply.kind) {
    case "late":
      return absent(
        "timed-out",
        `the driver gave no answer within ${formatDuration(span)}`,
      );
    case "ended":
      return absent("failed", `the helper process ${describeEnding(reply.ending)} without an answer`);
    case "nonsense":
      return absent("implausible", `the helper process gave no answer that can be read: ${reply.message}`);
  }
}

function describeEnding(ending: ChildEnding): string {
  return ending.kind === "signal" ? `was ended by ${ending.signal}` : `ended with status ${ending.status}`;
}
