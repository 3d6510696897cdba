/** `gpuctl verify-isolation`: whether a job stays on the GPUs that it was given, and why not. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type GpuSelector, parseGpuSelectors } from "../lib/analysis/select_gpus.ts";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { isPid, type Pid } from "../lib/core/ids.ts";
import { bytes } from "../lib/core/units.ts";
import type { World } from "../lib/world/ports.ts";
import { deadlineOption, durationOption, newCommand, parsedBy, sizeOption, sourceOption } from "./options.ts";

/** Builds the command. `line` is the whole command line: only it shows where a job begins. */
export function verifyIsolationCommand(
  world: World,
  end: (ending: Ending) => void,
  line: readonly string[],
): CommandUnknownOpts {
  return newCommand(
    "verify-isolation",
    "run a command and prove that it stays on its GPUs; or say why it does not",
  )
    .usage(
      "--gpu <list> [options] -- <command...>\n       gpuctl verify-isolation --gpu <list> --pid <list> [options]\n" +
        "       gpuctl verify-isolation --lint <file...> [options]",
    )
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
      new Option("--pid <list>", "judge these processes, and what they have started, by one look")
        .argParser(parsedBy(parsePids)),
    )
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
    .addOption(sourceOption())
    .addOption(deadlineOption())
    .addHelpText("after", STATUSES)
    .action(async (words, options) => {
      const job = commandAfterDashes(words, line);
      const { gpu, pid, lint } = options;
      if (job !== undefined) {
        if (pid !== undefined) throw misuse("--pid is for what runs already, and a command was given too");
        if (gpu === undefined) throw misuse("--gpu does not say which GPUs are the command's");
        const { isolateJobCommand } = await import("./verify_isolation_job.ts");
        end(await isolateJobCommand(job, { ...options, gpu }, world));
        return;
      }
      if (options.pin || options.timeout !== undefined) {
        throw misuse(`${options.pin ? "--pin" : "--timeout"} needs a command to run`);
      }
      if (pid !== undefined) {
        if (gpu === undefined) throw misuse("--gpu does not say which GPUs are theirs");
        const { isolatePidsCommand } = await import("./verify_isolation_pids.ts");
        end(await isolatePidsCommand(pid, { ...options, gpu }, world));
        return;
      }
      if (lint === undefined) throw misuse("neither a command, nor --pid, nor --lint was given");
      const { lintCommand } = await import("./verify_isolation_lint.ts");
      end(await lintCommand(lint, options, world));
    });
}

const DESCRIPTION = [
  "Runs the command and watches every GPU, not only the job's, until the last process that it started has gone. A " +
  "context of any of them on another GPU fails, with the reason that was worked out and the fix. The command gets the " +
  "terminal, its signals and its exit status as if gpuctl were not there; the report goes to standard error.",
  "What was not seen is never called isolated: a look that was not answered, a GPU whose processes are not listed, a " +
  "process that was gone before anybody could tell whose it was. Only what a daemon starts for the command (docker, " +
  "systemd-run, srun) is not known to be its own.",
  "With --lint alone nothing is run and no GPU is needed; with a command or --pid it helps to name the reason.",
].join("\n\n");

const STATUSES = `
Exit status: the command's own if it failed (128 and the signal's number if one ended it);
  0    isolated, and all of it was seen; --lint: nothing found
  10   violated; --lint: found something
  3    not proven: something could not be seen; --lint: could not be decided
  124  it ran out of time (--timeout)
  125  gpuctl failed: the command was not started, or the report not written
  126  the command cannot be run
  127  the command was not found

Examples:
  gpuctl verify-isolation --gpu 1 -- python train.py
  gpuctl verify-isolation --gpu 0-3 --pin --json -o report.json -- torchrun train.py
  gpuctl verify-isolation --gpu none -- make test
  gpuctl verify-isolation --gpu 2 --pid 4711
  gpuctl verify-isolation --lint train.py model.py`;

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
