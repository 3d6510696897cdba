/** What becomes of the signals that reach this program while it runs a job. */
import type { CatchSignals, Job } from "../world/ports.ts";

/**
 * Passes signals on to the command while it runs. Once it has ended, a signal means that nobody wants to wait for the
 * memory any longer: `interrupted` settles.
 */
export class SignalRelay implements Disposable {
  readonly interrupted: Promise<void>;
  readonly #caught: Disposable;
  #job: Job | undefined;
  #hasEnded = false;

  constructor(catchSignals: CatchSignals) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.interrupted = promise;
    this.#caught = catchSignals(({ signal, isFromTerminal }) => {
      if (this.#hasEnded) resolve();
      else if (!isFromTerminal) this.#job?.send(signal);
    });
  }

  /** From now on signals are for this command, until it ends. */
  follow(job: Job): void {
    this.#job = job;
    job.ended.then(() => {
      this.#hasEnded = true;
    });
  }

  [Symbol.dispose](): void {
    this.#caught[Symbol.dispose]();
  }
}
