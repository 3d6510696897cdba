/** Looking at the driver and the kernel: once, or again and again. */
import type { Reading } from "../../core/reading.ts";
import type { Milliseconds } from "../../core/units.ts";
import type { DriverReport } from "../../model/gpu.ts";
import type { Observation } from "../../model/observation.ts";
import type { XidEvent } from "../../model/reset_facts.ts";

/** What is read of each GPU beside what every look reads. */
export interface LookExtras {
  /** Utilization costs about 4 ms a GPU. */
  readonly withUtilization: boolean;
  /** What bears on a reset: another few milliseconds a GPU. */
  readonly withHealth?: true;
  /** Who used each GPU so far, also those that are gone: a call for each, where the driver keeps account. */
  readonly withAccounting?: true;
}

/** What a look at the machine may cost. */
export interface LookOptions extends LookExtras {
  /** How long the driver may take to answer. */
  readonly within: Milliseconds;
}

/** A look at the driver alone, again and again, for sampling. The helper stays up between looks. */
export interface Sampler extends AsyncDisposable {
  /** Never rejects for a driver that fails or hangs: the reading says so. */
  sample(options: LookOptions): Promise<Reading<DriverReport>>;
}

/** A sampler that looks at everybody too, through the same helper. */
export interface Observer extends Sampler {
  /** Never rejects for a driver that fails or hangs. */
  observe(options: LookOptions): Promise<Observation>;
}

/** The kernel's log, followed. */
export interface KernelLogFollower extends Disposable {
  /** The driver's errors that were logged since the last call; of the first call, since this was opened. Never throws. */
  readNew(): Reading<readonly XidEvent[]>;
}
