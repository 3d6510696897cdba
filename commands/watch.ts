/** `gpuctl watch`: follow GPUs and holders, and say when something is wrong. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import type { ChosenToWatch, WatchEnd } from "../lib/action/watch.ts";
import type { GpuSelector } from "../lib/analysis/select_gpus.ts";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { bytes, type Milliseconds, milliseconds } from "../lib/core/units.ts";
import type { DriverReport } from "../lib/model/gpu.ts";
import type { WatchRules } from "../lib/model/watch.ts";
import type { World } from "../lib/world/ports.ts";
import { chooseWithLost } from "./choose_with_lost.ts";
import {
  deadlineOption,
  durationOption,
  gpuOption,
  liveSource,
  newCommand,
  parsedBy,
  sizeOption,
  sourceOption,
} from "./options.ts";
import {
  durationOrOff,
  type OFF,
  parseCount,
  parseGrowth,
  parseMemoryLimit,
  valueUnlessOff,
} from "./watch_limits.ts";

type WatchCommandWorld = Pick<
  World,
  | ("clock" | "processes" | "openObserver" | "openKernelLog" | "catchSignals")
  | ("terminal" | "files" | "outputs" | "runShell")
>;

/** Shorter than this a watch would measure itself. */
const SHORTEST_INTERVAL_MS = 10;
const GIBIBYTE = bytes(1024 ** 3);

/** Builds the command. */
export function watchCommand(world: WatchCommandWorld, end: (ending: Ending) => void): CommandUnknownOpts {
  return newCommand("watch", "follow GPUs and their holders, and say when something is wrong")
    .description(DESCRIPTION)
    .addOption(sourceOption())
    .addOption(gpuOption())
    .addOption(
      durationOption("--interval <time>", "how often the driver is asked").default(milliseconds(1000), "1s"),
    )
    .addOption(durationOption("--for <time>", "end after this; without it only a signal ends the watch"))
    .addOption(
      new Option("--count <number>", "end after so many looks").argParser(parsedBy(parseCount)),
    )
    .option("--until-alert", "end at the first alert, with status 10")
    .addOption(
      new Option("--memory-above <limit>", "alert: more in use on a GPU than this, 90% or 70GiB")
        .argParser(parsedBy(parseMemoryLimit)),
    )
    .addOption(
      new Option("--growth <pace>", "alert: a process takes more and more, at this pace; or off")
        .argParser(parsedBy(parseGrowth)).default<ReturnType<typeof parseGrowth>>(GIBIBYTE, "1GiB/h"),
    )
    .addOption(
      durationOption("--growth-window <time>", "what that pace is measured over")
        .default(milliseconds(600_000), "10m"),
    )
    .addOption(
      durationOption("--warm-up <time>", "a process younger than this may grow")
        .default(milliseconds(300_000), "5m"),
    )
    .addOption(
      durationOrOff("--ghost-for <time>", "alert: a dead process has had memory for so long; or off", "1m"),
    )
    .addOption(
      durationOrOff(
        "--unattributed-for <time>",
        "alert: memory has been listed with no process for so long; or off",
        "5m",
      ),
    )
    .addOption(
      sizeOption("--unattributed-above <size>", "how much of it").default(GIBIBYTE, "1GiB"),
    )
    .addOption(
      durationOption(
        "--idle-for <time>",
        "alert: a process has had memory and used neither processor nor GPU for so long",
      ),
    )
    .addOption(
      durationOrOff(
        "--busy-without-process-for <time>",
        "alert: a GPU has been fully busy for so long and nobody uses it; or off",
        "1m",
      ),
    )
    .option("--no-xid", "do not read the kernel's log for errors of the driver")
    .addOption(
      durationOption("--once-per <time>", "what is over and comes back within this is not told again")
        .default(milliseconds(600_000), "10m"),
    )
    .option("--on-alert <command>", "give this line to sh for each alert (see below)")
    .option("--prometheus <file>", "keep metrics in this file, for node_exporter's textfile collector")
    .addOption(
      durationOption("--look-every <time>", "how often every process is looked at though nothing has changed")
        .default(milliseconds(60_000), "1m"),
    )
    .option("--json", "write lines of JSON on a terminal too")
    .addOption(deadlineOption())
    .addHelpText("after", DETAILS)
    .action(async (options) => {
      const source = liveSource(options.source, "watch");
      const { interval, prometheus, gpu: selectors } = options;
      if (interval < SHORTEST_INTERVAL_MS) {
        throw new GpuctlError("usage", `Cannot watch so often: --interval must be 10ms or more`);
      }
      if (prometheus !== undefined) world.outputs.checkPlace(prometheus);
      const [{ watchMachine }, { openWatchOutput }] = await Promise.all([
        import("../lib/action/watch.ts"),
        import("./watch_output.ts"),
      ]);
      const output = await openWatchOutput({
        interval,
        json: options.json ?? false,
        prometheus,
        onAlert: options.onAlert,
      }, world);
      try {
        const watched = await watchMachine(
          {
            source,
            interval,
            deadline: options.deadline,
            lookEvery: options.lookEvery,
            rules: rulesOf(options),
            oncePer: options.oncePer,
            span: options.for,
            count: options.count,
            untilAlert: options.untilAlert ?? false,
            choose: selectors && ((report) => chooseToWatch(report, selectors)),
          },
          output,
          world,
        );
        end(endingOf(watched));
      } finally {
        await output.finish();
      }
    });
}

const DESCRIPTION =
  "Shows on a terminal how memory and holders stand, drawn anew each time (gpuctl snapshot says why each holder is what " +
  "it is); elsewhere it writes a line of JSON for each look and each alert; as a systemd service it writes the alerts alone, at their priority in the journal. A driver " +
  "that hangs or goes away, a GPU that is lost, and one that the driver wants to be reset are always told.";

const DETAILS = `
An alert is told once, and once more when it is over. What cannot be seen just now is neither told nor over.
Growth is told where memory has risen all along the window: one allocation, however large, is no growth.

The command of --on-alert is run by /bin/sh for each alert, one after another and each for at most 30 s. Facts come
in its environment alone: GPUCTL_ALERT_MESSAGE, _KIND, _SEVERITY, _SINCE, _EVIDENCE, _ADVICE, _GPU, _GPU_UUID, _PID,
_COMMAND and _JSON, which has them all. They hold names that other users chose: quote them ("$GPUCTL_ALERT_MESSAGE").

Exit status:
  0    its time is over, or a signal ended it
  2    usage
  3    the driver has never answered, or a GPU that was named is not there
  10   with --until-alert: an alert

Examples:
  gpuctl watch                                             a table, until Ctrl-C
  gpuctl watch --memory-above 90% --idle-for 30m
  gpuctl watch --for 1h --json >samples.ndjson
  gpuctl watch --until-alert --for 10m                     status 10 if anything was wrong
  gpuctl watch --on-alert 'logger -t gpu "$GPUCTL_ALERT_MESSAGE"'
  gpuctl watch --prometheus /var/lib/prometheus/node-exporter/gpuctl.prom`;

interface RuleOptions {
  readonly memoryAbove?: WatchRules["memoryAbove"];
  readonly growth: ReturnType<typeof parseGrowth>;
  readonly growthWindow: Milliseconds;
  readonly warmUp: Milliseconds;
  readonly ghostFor: Milliseconds | typeof OFF;
  readonly unattributedFor: Milliseconds | typeof OFF;
  readonly unattributedAbove: ReturnType<typeof bytes>;
  readonly idleFor?: Milliseconds | undefined;
  readonly busyWithoutProcessFor: Milliseconds | typeof OFF;
  readonly xid: boolean;
}

function rulesOf(options: RuleOptions): WatchRules {
  const perHour = valueUnlessOff(options.growth);
  const unattributedFor = valueUnlessOff(options.unattributedFor);
  return {
    memoryAbove: options.memoryAbove,
    growth: perHour === undefined
      ? undefined
      : { perHour, window: options.growthWindow, warmUp: options.warmUp },
    ghostFor: valueUnlessOff(options.ghostFor),
    unattributed: unattributedFor === undefined
      ? undefined
      : { above: options.unattributedAbove, for: unattributedFor },
    idleFor: options.idleFor,
    busyFor: valueUnlessOff(options.busyWithoutProcessFor),
    hasXids: options.xid,
  };
}

function chooseToWatch(report: DriverReport, selectors: readonly GpuSelector[]): ChosenToWatch {
  const { gpus, unreadable } = chooseWithLost(report, selectors);
  const indexes = new Set([...gpus, ...unreadable].map(({ index }) => Number(index)));
  return { gpus, hasIndex: (index) => indexes.has(index) };
}

function endingOf({ hasAnswered, isEndedByAlert }: WatchEnd): Ending {
  if (isEndedByAlert) return "finding";
  return hasAnswered ? "ok" : "unavailable";
}
