/** `gpuctl clean-zombies`: ends what was left behind, and nothing else. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { DEFAULT_CLASSES, type EndingPolicy, WIDENING_CLASSES } from "../lib/analysis/ending.ts";
import type { Ending } from "../lib/core/errors.ts";
import { bytes, milliseconds } from "../lib/core/units.ts";
import type { Cleanup, EndOutcome } from "../lib/model/cleanup.ts";
import type { HolderClass } from "../lib/model/snapshot.ts";
import type { World } from "../lib/world/ports.ts";
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

const CLASSES = [...DEFAULT_CLASSES, ...WIDENING_CLASSES] as const;

/** The command with its options and nothing to do yet. What is to be run later is checked against it now. */
export function cleanZombiesOptions() {
  return newCommand("clean-zombies", "end what was left behind, and prove that the memory came back")
    .description(
      "Shows which holders were left behind and would be ended; --yes ends them. A holder is judged twice, a pause apart,\n" +
        "and checked again just before each signal. Services, displays, MPS servers, monitors, live and detached jobs,\n" +
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
    .option("--json", "print JSON")
    .addOption(deadlineOption());
}

/** Builds the command. */
export function cleanZombiesCommand(world: World, end: (ending: Ending) => void): CommandUnknownOpts {
  return cleanZombiesOptions()
    .action(async (options) => {
      const source = liveSource(options.source, "end processes");
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
      }, {
        ...world,
        audit: world.openAuditLog(options.auditLog, source),
      });
      if (options.json) {
        const [{ encodeCleanup }, { renderJson }] = await Promise.all([
          import("../lib/model/cleanup_json.ts"),
          import("../lib/render/json.ts"),
        ]);
        world.terminal.out(renderJson(encodeCleanup(cleanup)));
      } else await tell(cleanup, options.quiet ?? false, world);
      const { endingOf } = await import("../lib/analysis/cleanup_ending.ts");
      end(endingOf(cleanup));
    });
}

/** For a person the whole plan; for the journal one line an act, and silence when all is clean. */
async function tell(cleanup: Cleanup, isQuiet: boolean, { terminal }: World): Promise<void> {
  const { formatAct, formatUnread, renderCleanup } = await import("../lib/render/cleanup_text.ts");
  const isProven = cleanup.unreadGpus.length === 0;
  const isClean = cleanup.acts.length === 0 && cleanup.ghosts.length === 0 && isProven;
  if (!terminal.isJournal) {
    if (!(isClean && isQuiet)) terminal.out(renderCleanup(cleanup));
    return;
  }
  const { formatJournalLine } = await import("../lib/render/journal.ts");
  for (const act of cleanup.acts) terminal.err(formatJournalLine(priorityOf(act.outcome), formatAct(act)));
  for (const { pid } of cleanup.ghosts) {
    terminal.err(
      formatJournalLine(
        "warning",
        `memory of PID ${pid}, which is dead, is held and nothing may be ended for it`,
      ),
    );
  }
  if (!isProven) terminal.err(formatJournalLine("warning", formatUnread(cleanup)));
}

function priorityOf(outcome: EndOutcome): "err" | "notice" | "info" {
  if (outcome === "survived" || outcome === "memory-held") return "err";
  return outcome === "planned" ? "info" : "notice";
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
