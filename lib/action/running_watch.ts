/** Looks at a machine, once or for a while, for a verdict on what runs there already. */
import { admitHiddenOn } from "../analysis/diff_hidden.ts";
import { IsolationTally } from "../analysis/isolation_tally.ts";
import { type Absent, absent, known, mapReading, type Reading } from "../core/reading.ts";
import { formatDuration, type Milliseconds, milliseconds } from "../core/units.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { Observation } from "../model/observation.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { LookOptions, Population, World } from "../world/ports.ts";
import { Alarm } from "./alarm.ts";
import { Census } from "./census.ts";
import { answered, hidesRows, patienceOf } from "./first_look.ts";

export interface WatchSpan {
  readonly span: Milliseconds;
  readonly interval: Milliseconds;
}

export interface RunningWatchOptions {
  readonly source: LiveSource;
  readonly look: LookOptions;
  /** How long to watch; one look without it. */
  readonly watch: WatchSpan | undefined;
}

/** What is settled by the first look, before there are others. */
export interface WatchPreparation<Prepared> {
  /** @throws {GpuctlError} if the machine is not one to be judged so; it is not watched then. */
  readonly prepare: (machine: DriverReport) => Prepared | Promise<Prepared>;
  /** Is shown every report, whose processes have just been looked up. */
  readonly onReport?: (
    report: DriverReport,
    seen: Pick<SeenMachine<Prepared>, "prepared" | "census">,
  ) => void;
}

export type RunningWatchWorld =
  & Pick<World, "clock" | "observe" | "openSampler" | "catchSignals">
  & { readonly population: Pick<Population, "readProcess"> };

/** Everything that was seen. */
export interface SeenMachine<Prepared> {
  readonly prepared: Prepared;
  readonly observation: Observation;
  /** The first report, as this reader may take it. */
  readonly machine: DriverReport;
  /** The same as what growth counts from; absent where there was no second look. */
  readonly baseline: Reading<DriverReport>;
  readonly tally: IsolationTally;
  /** How far apart two looks may be before something was in their way; `undefined` for one look. */
  readonly patience: Milliseconds | undefined;
  readonly census: Census;
  /** Why somebody may have been overlooked; `undefined` if nobody was. */
  readonly untold: Absent | undefined;
  /** What the reader has to know of the watch itself. */
  readonly remarks: readonly string[];
}

/**
 * Looks at a machine; a signal ends a longer watch before its time.
 *
 * @throws {GpuctlError} `unavailable` if the driver gives no answer to the first look
 */
export async function watchRunning<Prepared>(
  { source, look, watch, prepare, onReport }: RunningWatchOptions & WatchPreparation<Prepared>,
  world: RunningWatchWorld,
): Promise<SeenMachine<Prepared>> {
  // The helper of the later looks starts the driver while the first one is taken.
  await using sampler = watch && await world.openSampler(source);
  const observation = await world.observe(source, look);
  const report = answered(observation, "gpuctl snapshot says what can be seen");
  const prepared = await prepare(report);
  const isPartial = hidesRows(observation);
  const admit = (value: DriverReport) =>
    isPartial ? { ...value, gpus: value.gpus.map(admitHiddenOn) } : value;
  const scan = observation.scan.ok ? observation.scan.value : undefined;
  const tally = new IsolationTally();
  const census = new Census(scan, world.population);
  const startedAt = world.clock.monotonic();
  const add = async (reading: Reading<DriverReport>) => {
    const at = milliseconds(Math.max(0, world.clock.monotonic() - startedAt));
    if (reading.ok) {
      await census.meet(reading.value);
      onReport?.(reading.value, { prepared, census });
    }
    tally.add({ at, report: mapReading(reading, admit) });
  };
  await add(known(report));
  const remarks = sampler && watch
    ? await follow(watch, { sample: async () => await add(await sampler.sample(look)) }, world)
    : [];
  tally.end(milliseconds(Math.max(0, world.clock.monotonic() - startedAt)));
  const machine = admit(report);
  return {
    patience: watch && patienceOf({ interval: watch.interval, look }),
    prepared,
    observation,
    machine,
    baseline: watch ? known(machine) : absent("not-asked", "one look shows no growth"),
    tally,
    census,
    untold: observation.scan.ok ? observation.scan.value.coverage.cutShort : observation.scan,
    remarks,
  };
}

/** Samples until the time is over or a signal comes, and says so if it was that. */
async function follow(
  { span, interval }: WatchSpan,
  { sample }: { readonly sample: () => Promise<void> },
  { clock, catchSignals }: Pick<World, "clock" | "catchSignals">,
): Promise<readonly string[]> {
  const { promise: interrupted, resolve: interrupt } = Promise.withResolvers<string>();
  using _signals = catchSignals(({ signal }) => interrupt(signal));
  const alarm = new Alarm(interrupted);
  const startedAt = clock.monotonic();
  for (;;) {
    const left = span - (clock.monotonic() - startedAt);
    if (left <= 0) return [];
    await alarm.pause(milliseconds(Math.min(interval, left)), clock);
    if (alarm.hasRung) break;
    await sample();
  }
  const watched = formatDuration(milliseconds(clock.monotonic() - startedAt));
  return [
    `${await interrupted} ended the watch after ${watched} of ${formatDuration(span)}: only that was judged`,
  ];
}
