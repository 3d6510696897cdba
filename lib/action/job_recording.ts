/** Keeps the samples of a job: as lines of a file, and as series to draw. */
import { MemorySeries } from "../analysis/diff_series.ts";
import { GpuctlError } from "../core/errors.ts";
import type { JobSample } from "../model/job_sample.ts";
import { encodeRecordingHead, encodeSample } from "../model/job_sample_json.ts";
import type { LineFile } from "../world/ports.ts";

/** What is kept of a job's samples. A recording that cannot be written ends itself, never the job. */
export class JobRecording {
  /** Only where a drawing was asked for. */
  readonly series: MemorySeries | undefined;
  #lines: LineFile | undefined;
  #failure: GpuctlError | undefined;

  constructor({ lines, isDrawn }: { readonly lines: LineFile | undefined; readonly isDrawn: boolean }) {
    this.#lines = lines;
    this.series = isDrawn ? new MemorySeries() : undefined;
  }

  /** Why the recording ended before the job did, if it did. */
  get failure(): GpuctlError | undefined {
    return this.#failure;
  }

  /** Writes the first line. */
  begin(command: readonly string[], startedAt: string): void {
    this.#append(encodeRecordingHead(command, startedAt));
  }

  readonly add = (sample: JobSample): void => {
    this.series?.add(sample);
    if (this.#lines) this.#append(encodeSample(sample));
  };

  #append(record: object): void {
    try {
      this.#lines?.append(JSON.stringify(record));
    } catch (error) {
      if (!(error instanceof GpuctlError)) throw error;
      // The job runs and is to be watched to its end; who asked for the file is told then.
      this.#failure = error;
      this.#lines = undefined;
    }
  }
}
