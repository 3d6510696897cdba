/** `gpuctl diff`: what a job leaves on the GPUs, or what changed between two snapshots. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { plural } from "../lib/core/text.ts";
import { bytes, milliseconds, parseDuration } from "../lib/core/units.ts";
import type { World } from "../lib/world/ports.ts";
import {
  deadlineOption,
  durationOption,
  gpuOption,
  newCommand,
  parsedBy,
  sizeOption,
  sourceOption,
} from "./options.ts";

/** More often than this the looks get into each other's way. */
const SHORTEST_INTERVAL_MS = 10;

/** Builds the command. `line` is the whole command line: only it shows where a job begins. */
export function diffCommand(
  world: World,
  end: (ending: Ending) => void,
  line: readonly string[],
): CommandUnknownOpts {
  return newCommand("diff", "run a command and say what it left on the GPUs; or compare two snapshots")
    .alias("diff-before-after")
    .usage("[options] -- <command...>\n       gpuctl diff [options] <before> <after>")
    .description(DESCRIPTION)
    .argument("[snapshots...]", "two saved snapshots, - is the machine now; or a command after --")
    .addOption(sourceOption())
    .addOption(gpuOption("judge only these: indexes, ranges, UUIDs (or their beginning), PCI addresses"))
    .option("--pin", "let the command see only the GPUs of --gpu (CUDA_VISIBLE_DEVICES, by UUID)")
    .addOption(
      new Option("--interval <time>", "how often to look while the command runs")
        .argParser(parsedBy(parseInterval)).default(milliseconds(100), "100ms"),
    )
    .addOption(
      durationOption("--settle <time>", "how long the memory has to come back after the end")
        .default(milliseconds(10_000), "10s"),
    )
    .addOption(
      sizeOption("--tolerance <size>", "what may be left, and what is no change")
        .default(bytes(1024 ** 2), "1MiB"),
    )
    .addOption(durationOption("--timeout <time>", "end the command after this long, and exit with 124"))
    .addOption(
      durationOption("--grace <time>", "how long SIGTERM has before SIGKILL").default(
        milliseconds(10_000),
        "10s",
      ),
    )
    .option("--kill-leftovers", "afterwards end what the command left; never anybody else's process")
    .addOption(
      new Option("--leak-exit-code <n>", "exit status when the command succeeded and left memory behind")
        .argParser(parsedBy(parseStatus)).default(10),
    )
    .option("--record <file>", "write every sample to a file, one JSON object a line")
    .option("--report <file>", "write an HTML page with memory over time")
    .option("-o, --output <file>", "write the report to a file instead of standard error")
    .option("--json", "report as JSON")
    .option("--audit-log <file>", "where --kill-leftovers records what it ends")
    .addOption(deadlineOption())
    .addHelpText("after", STATUSES)
    .action(async (words, options) => {
      const job = commandAfterDashes(words, line);
      if (job !== undefined) {
        const { diffJobCommand } = await import("./diff_job.ts");
        end(await diffJobCommand(job, options, world));
        return;
      }
      const [before, after, ...more] = words;
      if (before === undefined || after === undefined || more.length > 0) throw misuse(words);
      const { diffSnapshotsCommand } = await import("./diff_snapshots.ts");
      end(await diffSnapshotsCommand({ before, after, hint: DASHES }, options, world));
    });
}

const DESCRIPTION = [
  "Looks at the GPUs, runs the command, and looks again. The command gets the terminal, its signals and its exit status " +
  "as if gpuctl were not there. While it runs its whole tree is sampled, processes that escape from it included; only " +
  "what a daemon starts for it (docker, systemd-run, srun) is not known to be its own.",
  "Afterwards gpuctl waits until the memory is back, or does not come back any more, and says for each GPU: released, " +
  "still coming back, moved to another process (CUDA IPC), held by whom and why, held by nobody that can be seen, or " +
  "changed by others. The report goes to standard error.",
  "With two saved snapshots (of gpuctl, or nvidia-smi's output) it says what is held in the second that was not in the " +
  "first; that report goes to standard output.",
].join("\n\n");

const STATUSES = `
Exit status: the command's own (128 and the signal's number if one ended it);
  10   it succeeded and left memory behind (--leak-exit-code);
       of two snapshots: something is held in the second that was not before
  3    it succeeded, and whether it left memory behind cannot be told
  124  it ran out of time (--timeout)
  125  gpuctl failed: the command was not started (a GPU that is not there, also), or the report not written
  126  the command cannot be run
  127  the command was not found

Examples:
  gpuctl diff -- python job.py
  gpuctl diff --gpu 1 --pin --report job.html -- torchrun train.py
  gpuctl snapshot --json -o before.json; make test; gpuctl diff before.json -`;

const DASHES = "a command to run stands after --: gpuctl diff -- python job.py";

/** The words after the first `--` of the line; `undefined` without one. */
function commandAfterDashes(
  words: readonly string[],
  line: readonly string[],
): readonly string[] | undefined {
  const dashes = line.indexOf("--");
  if (dashes < 0) return undefined;
  const command = line.slice(dashes + 1);
  if (command.length === 0) {
    throw new GpuctlError("usage", "Cannot run a command as none follows --", {
      hint: "gpuctl diff -- python job.py",
    });
  }
  if (command.length < words.length) {
    throw new GpuctlError("usage", `Cannot tell what "${words[0]}" is: it stands before --`, {
      hint: "two snapshots are compared without --; a command stands after it",
    });
  }
  return command;
}

function misuse(words: readonly string[]): GpuctlError {
  const given = words.length === 0
    ? "neither a command nor two snapshots were given"
    : `${plural(words.length, "word")} ${words.length === 1 ? "was" : "were"} given`;
  return new GpuctlError("usage", `Cannot compare: ${given}`, {
    hint: words.length === 0 ? "gpuctl diff -- python job.py, or gpuctl diff before.json after.json" : DASHES,
  });
}

function parseInterval(text: string) {
  const interval = parseDuration(text);
  if (interval >= SHORTEST_INTERVAL_MS) return interval;
  throw new SyntaxError(`Cannot sample every ${text}: the shortest interval is ${SHORTEST_INTERVAL_MS}ms`);
}

function parseStatus(text: string): number {
  const status = /^\d{1,3}$/.test(text) ? Number(text) : NaN;
  if (status <= 255) return status;
  throw new SyntaxError(`Cannot parse "${text}" as an exit status: expected a number from 0 to 255`);
}
