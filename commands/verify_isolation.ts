/** `gpuctl verify-isolation`: whether a job, or everybody, stays on the GPUs that are theirs, and why not. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type GpuSelector, parseGpuSelectors } from "../lib/analysis/select_gpus.ts";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { isPid, type Pid } from "../lib/core/ids.ts";
import { bytes } from "../lib/core/units.ts";
import type { World } from "../lib/world/ports.ts";
import {
  cgroupOption,
  containerOption,
  ownerNames,
  slurmJobOption,
  unitOption,
  userOption,
} from "./owner_options.ts";
import { deadlineOption, durationOption, newCommand, parsedBy, sizeOption, sourceOption } from "./options.ts";
import { DESCRIPTION, STATUSES, USAGE } from "./verify_isolation_help.ts";

/** Builds the command. `line` is the whole command line: only it shows where a job begins. */
export function verifyIsolationCommand(
  world: World,
  end: (ending: Ending) => void,
  line: readonly string[],
): CommandUnknownOpts {
  return newCommand(
    "verify-isolation",
    "prove that a job, or everybody, stays on their GPUs; or say why not",
  )
    .usage(USAGE)
    .description(DESCRIPTION)
    .argument("[command...]", "a command after --")
    .addOption(
      new Option(
        "--gpu <list>",
        "the job's GPUs: indexes, ranges, UUIDs (or their beginning), PCI addresses; or none",
      )
        .argParser(parsedBy(parseAllowed)),
    )
    .addOption(
      new Option("--pid <list>", "judge these processes, and what they have started")
        .argParser(parsedBy(parsePids)),
    )
    .addOption(containerOption("judge this container (or the beginning of its id)"))
    .addOption(slurmJobOption("judge this Slurm job"))
    .addOption(unitOption("judge this systemd unit"))
    .addOption(cgroupOption("judge this cgroup and those below"))
    .addOption(userOption("judge the processes of these users"))
    .addOption(
      new Option("--rules <file>", "judge the whole machine by a file that says who may use which GPUs"),
    )
    .addOption(durationOption("--for <time>", "watch what runs for so long; one look unless told"))
    .addOption(durationOption("--interval <time>", "how often to look; every 100ms unless told"))
    .option("--exclusive", "contexts of others on the job's GPUs are violations too")
    .addOption(
      new Option(
        "--lint <file...>",
        "read Python sources or notebooks for what makes CUDA_VISIBLE_DEVICES void",
      )
        .argParser((path: string, before: readonly string[] | undefined) => [...before ?? [], path]),
    )
    .addOption(
      sizeOption("--threshold <size>", "how large a context elsewhere may be").default(bytes(0), "0MiB"),
    )
    .option("--pin", "let the command see only its GPUs (CUDA_VISIBLE_DEVICES, by UUID)")
    .addOption(durationOption("--timeout <time>", "end the command after this long, and exit with 124"))
    .option("-o, --output <file>", "write the report to a file")
    .option("--json", "report as JSON")
    .option("--quiet", "print nothing when what runs is isolated")
    .addOption(sourceOption())
    .addOption(deadlineOption())
    .addHelpText("after", STATUSES)
    .action(async (words, options) => {
      const job = commandAfterDashes(words, line);
      refuseMixture(job, options);
      const { gpu, pid, lint, rules } = options;
      const names = ownerNames(options);
      if (job !== undefined) {
        if (gpu === undefined) throw misuse("--gpu does not say which GPUs are the command's");
        const { isolateJobCommand } = await import("./verify_isolation_job.ts");
        end(await isolateJobCommand(job, { ...options, gpu }, world));
      } else if (rules !== undefined) {
        const { isolateMachineCommand } = await import("./verify_isolation_rules.ts");
        end(await isolateMachineCommand(rules, options, world));
      } else if (pid !== undefined || Object.keys(names).length > 0) {
        // A container or a Slurm job may tell by itself what it was given.
        if (gpu === undefined && names.container === undefined && names.slurmJob === undefined) {
          throw misuse("--gpu does not say which GPUs are theirs");
        }
        const named = pid ? { kind: "pids", pids: pid } as const : { kind: "owner", names } as const;
        const { isolateRunningCommand } = await import("./verify_isolation_running.ts");
        end(await isolateRunningCommand(named, options, world));
      } else {
        if (lint === undefined) {
          throw misuse("neither a command, nor --pid, nor --rules, nor --lint was given");
        }
        const { lintCommand } = await import("./verify_isolation_lint.ts");
        end(await lintCommand(lint, options, world));
      }
    });
}

/** The words after the first `--` of the line; `undefined` without one. */
function commandAfterDashes(
  words: readonly string[],
  line: readonly string[],
): readonly string[] | undefined {
  const dashes = line.indexOf("--");
  const command = dashes < 0 ? [] : line.slice(dashes + 1);
  if (dashes >= 0 && command.length === 0) throw misuse("no command follows --");
  if (command.length < words.length) throw misuse(`"${words[0]}" does not stand after --`);
  return dashes < 0 ? undefined : command;
}

/** Options of one kind of judging mean nothing to another: they are refused, lest somebody relies on them. */
function refuseMixture(job: readonly string[] | undefined, options: MixedOptions): void {
  const given = (names: readonly (keyof MixedOptions)[]) => names.find((name) => options[name] !== undefined);
  const owner = given(OWNERS);
  const subject = options.pid ? "pid" : owner ?? given(["rules"]);
  if (job !== undefined && subject !== undefined) {
    throw misuse(`${flagOf(subject)} is for what runs already, and a command was given too`);
  }
  const running = given(["for", "quiet"]);
  if (running !== undefined && subject === undefined) {
    throw misuse(`${flagOf(running)} is for what runs already`);
  }
  const command = given(["pin", "timeout"]);
  if (command !== undefined && job === undefined) throw misuse(`${flagOf(command)} needs a command to run`);
  if (options.pid && owner !== undefined) throw misuse(`--pid and ${flagOf(owner)} cannot both be judged`);
  if (options.rules !== undefined) {
    const other = options.pid ? "pid" : owner;
    if (other !== undefined) throw misuse(`--rules and ${flagOf(other)} cannot both be judged`);
    const said = given(["gpu", "exclusive", "lint"]);
    if (said !== undefined) {
      throw misuse(`${flagOf(said)} does not go with --rules: each rule speaks for itself`);
    }
  }
  if (options.interval !== undefined && options.for === undefined && job === undefined) {
    throw misuse("--interval needs --for or a command");
  }
}

const OWNERS = ["container", "slurmJob", "unit", "cgroup", "user"] as const;
type MixedOptions =
  & Readonly<Partial<Record<"gpu" | "pid" | "rules" | "for" | "interval" | "lint", unknown>>>
  & Readonly<Partial<Record<"exclusive" | "quiet" | "pin" | "timeout", unknown>>>
  & Readonly<Partial<Record<typeof OWNERS[number], unknown>>>;

function flagOf(name: keyof MixedOptions): string {
  return `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
}

function misuse(why: string): GpuctlError {
  return new GpuctlError("usage", `Cannot verify isolation: ${why}`, {
    hint: "gpuctl verify-isolation --gpu 1 -- python train.py",
  });
}

function parseAllowed(text: string): readonly GpuSelector[] {
  return text === "none" ? [] : parseGpuSelectors(text);
}

function parsePids(text: string): readonly Pid[] {
  return text.split(",").map((entry) => {
    const value = /^\d{1,10}$/.test(entry.trim()) ? Number(entry) : NaN;
    if (isPid(value)) return value;
    throw new SyntaxError(`Cannot parse "${entry}" as a PID: expected a whole number`);
  });
}
