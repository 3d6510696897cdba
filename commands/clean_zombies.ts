/** `gpuctl clean-zombies`: ends what was left behind, and nothing else. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { endingOf } from "../lib/analysis/cleanup_ending.ts";
import { DEFAULT_CLASSES, type EndingPolicy, WIDENING_CLASSES } from "../lib/analysis/ending.ts";
import type { Ending } from "../lib/core/errors.ts";
import { bytes, milliseconds } from "../lib/core/units.ts";
import type { HolderClass } from "../lib/model/snapshot.ts";
import type { World } from "../lib/world/ports.ts";
import { tellCleanup } from "./clean_zombies_report.ts";
import {
  chooseGpus,
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
  cgroupOption,
  containerOption,
  ownerNames,
  parsePids,
  slurmJobOption,
  splitList,
  unitOption,
  userOption,
} from "./owner_options.ts";
import { tellWaits } from "./waiting.ts";

const CLASSES = [...DEFAULT_CLASSES, ...WIDENING_CLASSES] as const;

/** The command with its options and nothing to do yet. What is to be run later is checked against it now. */
export function cleanZombiesOptions() {
  return newCommand("clean-zombies", "end what was left behind, and prove that the memory came back")
    .description(
      "Shows which holders were left behind and would be ended; --yes ends them. A holder is judged twice, a pause apart, " +
        "and checked again just before each signal. Services, displays, MPS servers, monitors, live and detached jobs, " +
        "other people's processes (without root) and whatever cannot be judged are left alone.",
    )
    .option("--yes", "carry the plan out")
    .addOption(sourceOption())
    .addOption(gpuOption())
    .addOption(
      new Option("--class <names>", "which classes, with commas").choices(CLASSES)
        .argParser(parsedBy(parseClasses)).default(
          new Set<HolderClass>(DEFAULT_CLASSES),
          DEFAULT_CLASSES.join(","),
        ),
    )
    .addOption(
      new Option("--pid <pids>", "only these processes, young and busy ones too").argParser(
        parsedBy(parsePids),
      ),
    )
    .addOption(userOption("only processes of these users"))
    .addOption(containerOption("only this container (or the beginning of its id)"))
    .addOption(slurmJobOption("only this Slurm job"))
    .addOption(unitOption("only this systemd unit"))
    .addOption(cgroupOption("only this cgroup and below"))
    .addOption(
      durationOption("--min-age <time>", "leave younger processes alone").default(
        milliseconds(30_000),
        "30s",
      ),
    )
    .addOption(sizeOption("--min-bytes <size>", "leave smaller holders alone").default(bytes(0), "0"))
    .addOption(
      durationOption(
        "--idle <time>",
        "only holders that used no CPU and no GPU for so long; known from run to run",
      ),
    )
    .option(
      "--protect <text>",
      "leave alone whose command, user, unit or container has this text (repeatable)",
      collect,
      [],
    )
    .addOption(
      durationOption("--confirm <time>", "pause between the two judgements").default(
        milliseconds(3000),
        "3s",
      ),
    )
    .addOption(
      durationOption("--grace <time>", "how long SIGTERM has before SIGKILL").default(
        milliseconds(10_000),
        "10s",
      ),
    )
    .addOption(
      durationOption("--settle <time>", "how long the driver has to give memory back").default(
        milliseconds(30_000),
        "30s",
      ),
    )
    .option("--audit-log <file>", "where every act is recorded")
    .option("--quiet", "print nothing when there is nothing to clean")
    .option("-o, --output <file>", "write the report to a file")
    .option("--json", "print JSON")
    .addOption(deadlineOption())
    .addHelpText("after", STATUSES);
}

const STATUSES = `
Exit status:
  0    nothing to clean, or all of it cleaned; and all that this rests on was seen
  3    not all that this rests on could be seen; or no driver answers, or what was named is not there
  4    permission
  5    refused: another run is at work, nothing can be recorded, or the host's processes cannot be seen from here
  6    something that was to be ended was not, or its memory did not come back
  10   something was found: a plan; memory of the dead that nobody may be ended for; or what was left behind and is
       spared for now, as it is too young, at work or stuck
Without root only your own processes count. A process that not even root can look into is named, and counts only
where there is memory that nobody else explains.

Examples:
  gpuctl clean-zombies                             what was left behind, and what would be ended
  sudo gpuctl clean-zombies --yes                  end it, and prove that the memory came back
  gpuctl clean-zombies --pid 4711 --yes            this process alone, young and busy too
  gpuctl clean-zombies --gpu 0-3 --min-age 5m
  gpuctl clean-zombies --class detached --idle 2h  what runs on purpose, and did nothing for two hours`;

/** Builds the command. */
export function cleanZombiesCommand(world: World, end: (ending: Ending) => void): CommandUnknownOpts {
  return cleanZombiesOptions()
    .action(async (options) => {
      const source = liveSource(options.source, "end processes");
      if (options.output !== undefined) world.outputs.checkPlace(options.output);
      const { cleanZombies } = await import("../lib/action/clean_zombies.ts");
      const policy = (gpus: Parameters<typeof chooseGpus>[0]): EndingPolicy => ({
        classes: options.class,
        ...(options.gpu && { gpus: new Set(chooseGpus(gpus, options.gpu).map(({ uuid }) => uuid)) }),
        ...(options.pid && { pids: options.pid }),
        ...ownerNames(options),
        minAge: options.minAge,
        minBytes: options.minBytes,
        protect: options.protect,
      });
      const look = { within: options.deadline, withUtilization: options.idle !== undefined };
      const { confirm, grace, settle } = options;
      const cleanup = await cleanZombies({
        source,
        policy,
        look,
        confirm,
        grace,
        settle,
        idleFor: options.idle,
        isPlan: !options.yes,
        onWait: tellWaits(world.terminal, options),
      }, {
        ...world,
        audit: world.openAuditLog(options.auditLog, source),
      });
      await tellCleanup(cleanup, options, world);
      end(endingOf(cleanup));
    });
}

function collect(text: string, before: string[]): string[] {
  return [...before, text];
}

function parseClasses(text: string): ReadonlySet<HolderClass> {
  return new Set(
    splitList(text).map((word) => {
      const found = CLASSES.find((name) => name === word);
      if (found === undefined) {
        throw new SyntaxError(
          `Cannot end "${word}": the classes that may be ended are ${CLASSES.join(", ")}`,
        );
      }
      return found;
    }),
  );
}
