/** `gpuctl reset-gpu`: would a reset help, what stands in the way, do it, and prove it. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import type { ClockKinds } from "../lib/analysis/reset_plan.ts";
import { type GpuSelector, parseGpuSelectors } from "../lib/analysis/select_gpus.ts";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { valueOf } from "../lib/core/reading.ts";
import { milliseconds } from "../lib/core/units.ts";
import { repeatOption } from "../lib/core/own_commands.ts";
import type { Reset, ResetStep } from "../lib/model/reset.ts";
import { sourceOptionOf } from "../lib/model/source_choice.ts";
import type { Terminal, World } from "../lib/world/ports.ts";
import { chooseWithLost } from "./choose_with_lost.ts";
import { deadlineOption, durationOption, liveSource, newCommand, parsedBy, sourceOption } from "./options.ts";
import { parsePids } from "./owner_options.ts";
import { tellProgress } from "./waiting.ts";

/** Builds the command. */
export function resetGpuCommand(world: World, end: (ending: Ending) => void): CommandUnknownOpts {
  return newCommand("reset-gpu", "say whether a reset would help, what stands in its way, and reset")
    .description(DESCRIPTION)
    .argument(
      "<gpu...>",
      'indexes, ranges, UUIDs (or their beginning), PCI addresses; there is no "all"',
      (text: string, before: readonly GpuSelector[] | undefined) => [
        ...before ?? [],
        ...parsedBy(parseResettable)(text),
      ],
    )
    .option("--yes", "carry the plan out")
    .option("--evict", "first end the holders that were left behind, by the rules of clean-zombies")
    .addOption(
      new Option(
        "--pid <list>",
        "with --evict: these too: left behind, though young or busy; suspended or on their own (nohup), if idle",
      )
        .argParser(parsedBy(parsePids)),
    )
    .option("--stop-services", "stop the services that hold a GPU, and start them again afterwards")
    .option("--clocks", "reset no GPU: only undo locked graphics clocks")
    .option("--memory-clocks", "the same for locked memory clocks")
    .option("--application-clocks", "the same for applications clocks")
    .option(
      "--protect <text>",
      "leave alone whose command, user, unit or container has this text (repeatable)",
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .addOption(sourceOption())
    .addOption(
      durationOption("--confirm <time>", "pause between the two judgements of --evict")
        .default(milliseconds(3000), "3s"),
    )
    .addOption(
      durationOption("--grace <time>", "how long SIGTERM has before SIGKILL")
        .default(milliseconds(10_000), "10s"),
    )
    .addOption(
      durationOption("--settle <time>", "how long memory and GPUs have to come back")
        .default(milliseconds(30_000), "30s"),
    )
    .addOption(
      durationOption("--step-limit <time>", "how long nvidia-smi may take for one step; it is never ended")
        .default(milliseconds(120_000), "2m"),
    )
    .option("--nvidia-smi <file>", "run this nvidia-smi, not the installed one")
    .option("--audit-log <file>", "where every step is recorded")
    .option("-o, --output <file>", "write the report to a file")
    .option("--json", "report as JSON")
    .addOption(deadlineOption())
    .addHelpText("after", STATUSES)
    .action(async (selectors, options) => {
      const source = liveSource(options.source, "reset a GPU");
      if (options.pid !== undefined && !options.evict) {
        throw new GpuctlError(
          "usage",
          "Cannot end processes without --evict: --pid only says whom it may end",
        );
      }
      const smi = options.nvidiaSmi;
      if (smi !== undefined && !smi.startsWith("/")) {
        throw new GpuctlError("usage", `Cannot run "${smi}": expected an absolute path`);
      }
      if (options.output !== undefined) world.outputs.checkPlace(options.output);
      const audit = world.openAuditLog(options.auditLog, source);
      const { resetGpus } = await import("../lib/action/reset.ts");
      const reset = await resetGpus({
        source,
        choose: (report) => chooseWithLost(report, selectors),
        flags: {
          evict: options.evict ?? false,
          named: options.pid ?? new Set(),
          protect: options.protect,
          stopServices: options.stopServices ?? false,
        },
        clocks: clocksOf(options),
        isPlan: !options.yes,
        look: { within: options.deadline, withUtilization: true },
        confirm: options.confirm,
        grace: options.grace,
        settle: options.settle,
        stepLimit: options.stepLimit,
        // Without a record a fault that we caused counts as the driver's own: never too little is said.
        record: valueOf(audit.read()) ?? "",
        onStep: tellSteps(world.terminal, options),
      }, { ...world, audit, tools: await world.openResetTools(source, { smi }) });
      await tell(withSource(reset, sourceOptionOf(source)), options, world);
      const { endingOfReset } = await import("../lib/analysis/reset_ending.ts");
      end(endingOfReset(reset));
    });
}

const DESCRIPTION = [
  "Says first whether a reset would help: what the driver asks for, what the kernel log says, whether ending a process " +
  "would do instead. Then everything that stands in the way, by name, with what to do about it, and the steps. --yes " +
  "carries them out, puts back what was changed also after a failure or a signal, and reads the GPU again.",
  "Without --evict and --stop-services nobody is ended and nothing is stopped: what holds a GPU blocks its reset. " +
  "Nobody at work is ever ended. A reset takes away locked clocks, compute mode, power limit, accounting data and MIG " +
  "instances.",
].join("\n\n");

const STATUSES = `
Exit status:
  0    done; what was reset has been read again as healthy
  3    no driver answers and the kernel knows no GPU, or one that was named is not there
  4    not root
  5    something stands in the way, or another run is at work, or nothing can be recorded: nothing was begun
  6    the reset failed, or the GPU did not come back, or a signal came; the report says what was put back
  10   only a plan

Examples:
  gpuctl reset-gpu 3                             would it help? what stands in the way?
  gpuctl reset-gpu 3 --yes
  gpuctl reset-gpu 3 --evict --stop-services --yes
  gpuctl reset-gpu 0-7 --clocks --yes            undo locked clocks; no reset`;

function parseResettable(text: string): readonly GpuSelector[] {
  const selectors = parseGpuSelectors(text);
  selectors.forEach(refuseMigDevice);
  return selectors;
}

/** What is reset is a whole GPU, with all its MIG devices: who names one of those does not mean the others. */
function refuseMigDevice(selector: GpuSelector): void {
  const isDevice = selector.kind === "mig-place" ||
    (selector.kind === "uuid" && selector.prefix.startsWith("mig-"));
  if (!isDevice) return;
  throw new GpuctlError("usage", `Cannot reset ${selector.prefix}: a MIG device has no reset of its own`, {
    hint: "name its GPU: that is reset with all its MIG devices",
  });
}

interface ClockOptions {
  readonly clocks?: true | undefined;
  readonly memoryClocks?: true | undefined;
  readonly applicationClocks?: true | undefined;
}

function clocksOf({ clocks, memoryClocks, applicationClocks }: ClockOptions): ClockKinds | undefined {
  if (!clocks && !memoryClocks && !applicationClocks) return undefined;
  return {
    graphics: clocks ?? false,
    memory: memoryClocks ?? false,
    applications: applicationClocks ?? false,
  };
}

/** Has what is to be done be done to the machine that was looked at. */
function withSource(reset: Reset, option: string | undefined): Reset {
  return {
    ...reset,
    blockers: reset.blockers.map((each) => ({ ...each, remedy: repeatOption(each.remedy, option) })),
    steps: reset.steps.map((step) =>
      step.answer === undefined ? step : { ...step, answer: repeatOption(step.answer, option) }
    ),
  };
}

interface ReportOptions {
  readonly json?: true | undefined;
  readonly output?: string | undefined;
}

function tellSteps(terminal: Terminal, options: ReportOptions): (step: ResetStep) => void {
  const tellPerson = tellProgress(terminal, options);
  return ({ what }) => tellPerson(what);
}

/** For a person the whole report; for the journal one line an act, first, since a file may be where none can be written. */
async function tell(
  reset: Reset,
  { json, output }: ReportOptions,
  { terminal, files }: Pick<World, "terminal" | "files">,
): Promise<void> {
  const isForJournal = terminal.isJournal && !json;
  if (isForJournal) {
    const { journalReset } = await import("../lib/render/reset_journal.ts");
    terminal.err(journalReset(reset));
  }
  if (output === undefined) {
    if (!isForJournal) terminal.out(await renderReport(reset, json, terminal.screen));
    return;
  }
  const report = await renderReport(reset, json, undefined);
  try {
    files.writeWhole(output, report);
  } catch (error) {
    // What was done must not be lost with the file that was to tell of it.
    terminal.out(report);
    throw error;
  }
}

async function renderReport(
  reset: Reset,
  json: true | undefined,
  screen: Terminal["screen"],
): Promise<string> {
  if (!json) return (await import("../lib/render/reset_text.ts")).renderReset(reset, screen);
  const [{ encodeReset }, { renderJson }] = await Promise.all([
    import("../lib/model/reset_json.ts"),
    import("../lib/render/json.ts"),
  ]);
  return renderJson(encodeReset(reset));
}
