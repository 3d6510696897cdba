/** The statuses of programs that run a command, for the commands that are such programs. */
import { JOB_STATUS } from "../lib/analysis/diff_status.ts";
import { GpuctlError } from "../lib/core/errors.ts";
import type { StartFailure } from "../lib/world/ports.ts";

/** The failure of a command that did not start, with the status that env(1) has for it. */
export function notStarted({ kind, message }: StartFailure): GpuctlError {
  const status = kind === "not-found" ? JOB_STATUS.notFound : JOB_STATUS.notRunnable;
  return new GpuctlError("unavailable", message, { status });
}

/** Gives failures the status that programs have which run a command. One that has a status already keeps it. */
export async function withJobStatus<T>(status: number, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof GpuctlError) || error.status !== undefined) throw error;
    throw new GpuctlError(error.failure, error.message, {
      ...(error.hint !== undefined && { hint: error.hint }),
      cause: error,
      status,
    });
  }
}
