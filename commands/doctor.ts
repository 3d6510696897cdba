/** `gpuctl doctor`: the questions that people otherwise go through by hand, in order, each with its fix. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import type { CheckPlan } from "../lib/analysis/doctor/facts.ts";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { repeatOption } from "../lib/core/own_commands.ts";
import type { Diagnosis } from "../lib/model/doctor.ts";
import { sourceOptionOf } from "../lib/model/source_choice.ts";
import type { Terminal, World } from "../lib/world/ports.ts";
import { deadlineOption, liveSource, newCommand, parsedBy, sourceOption } from "./options.ts";
import { parsePids } from "./owner_options.ts";

/** Builds the command. */
export function doctorCommand(world: World, end: (ending: Ending) => void): CommandUnknownOpts {
  return newCommand("doctor", "find out why GPUs cannot be used, or cannot be used in full")
    .description(DESCRIPTION)
    .addOption(namesOption("--only <ids>", "make only these checks (memory stands for all of memory.)"))
    .addOption(namesOption("--skip <ids>", "leave these out"))
    .option("--list", "list the checks and make none")
    .option(
      "--python <path>",
      "look at the packages of this interpreter or environment; it is not started",
    )
    .addOption(
      new Option("--pid <list>", "judge the variables of these processes as well").argParser(
        parsedBy(parsePids),
      ),
    )
    .addOption(sourceOption())
    .addOption(deadlineOption("how long each check may take"))
    .option("--quiet", "print only what is wrong")
    .option("-o, --output <file>", "write the report to a file")
    .option("--json", "report as JSON")
    .addHelpText("after", STATUSES)
    .action(async (options) => {
      const source = liveSource(options.source, "examine a machine");
      const checks = await chooseNamed(options.only, options.skip);
      if (options.list) {
        const { renderCheckList } = await import("../lib/render/doctor_text.ts");
        world.terminal.out(renderCheckList(checks));
        return end("ok");
      }
      if (options.output !== undefined) world.outputs.checkPlace(options.output);
      const { diagnose } = await import("../lib/action/doctor.ts");
      const diagnosis = await diagnose({
        source,
        checks,
        deadline: options.deadline,
        pids: [...options.pid ?? []],
        python: options.python,
      }, world);
      await tell(withSource(diagnosis, sourceOptionOf(source)), options, world);
      const { endingOfChecks } = await import("../lib/analysis/doctor/checks.ts");
      end(endingOfChecks(diagnosis.checks));
    });
}

const DESCRIPTION = [
  "Makes one check after another, from the kernel module to the frameworks: what was seen, what is wrong, and the one " +
  "next thing to do. Nothing is changed, nothing but the driver is asked, and no program of anybody's is started: which " +
  "CUDA a framework was built for is read from its files.",
  "What could not be read is called not known, never ok. Each check has its own deadline, and a driver that hangs keeps " +
  "only those from an answer that need it. Without root it says what root would see more.",
].join("\n\n");

const STATUSES = `
Without --python it looks at VIRTUAL_ENV, CONDA_PREFIX, .venv and venv here, and python3 and python on the PATH. sudo
passes few variables on: name the environment then.

Exit status:
  0    all is well
  3    something could not be checked, or no check applied
  10   something is wrong, whatever else could not be checked

Examples:
  gpuctl doctor                                  everything
  sudo gpuctl doctor --python ~/train/.venv      with what only root sees, and this environment
  gpuctl doctor --only driver,library,devices    the driver alone
  gpuctl doctor --skip namespace.pid --quiet     in a container, for a start script
  gpuctl doctor --pid 4711                       which GPUs do the variables of this process leave it?`;

function namesOption<const Usage extends string>(flags: Usage, description: string) {
  return new Option(flags, description).argParser((text: string, before: readonly string[] | undefined) => [
    ...before ?? [],
    ...text.split(",").map((name) => name.trim()),
  ]);
}

async function chooseNamed(
  only: readonly string[] | undefined,
  skip: readonly string[] | undefined,
): Promise<readonly CheckPlan[]> {
  const { chooseChecks } = await import("../lib/analysis/doctor/checks.ts");
  const choice = chooseChecks({ only, skip });
  if (choice.kind === "unknown") {
    throw new GpuctlError("usage", `Cannot make the check "${choice.name}": there is none of that name`, {
      hint: choice.near === undefined ? "gpuctl doctor --list shows them" : `did you mean ${choice.near}?`,
    });
  }
  if (choice.checks.length === 0) {
    throw new GpuctlError("usage", "Cannot make any check: --skip leaves out all that --only names");
  }
  return choice.checks;
}

/** Has what is to be done be done to the machine that was examined. */
function withSource(diagnosis: Diagnosis, option: string | undefined): Diagnosis {
  const checks = diagnosis.checks.map((check) =>
    check.fix === undefined ? check : { ...check, fix: repeatOption(check.fix, option) }
  );
  return { ...diagnosis, checks };
}

interface ReportOptions {
  readonly json?: true | undefined;
  readonly quiet?: true | undefined;
  readonly output?: string | undefined;
}

async function tell(
  diagnosis: Diagnosis,
  { json, quiet, output }: ReportOptions,
  { terminal, files }: Pick<World, "terminal" | "files">,
): Promise<void> {
  const render = (screen: Terminal["screen"]) => renderReport(diagnosis, { json, quiet }, screen);
  if (output === undefined) terminal.out(await render(terminal.screen));
  else files.writeWhole(output, await render(undefined));
}

async function renderReport(
  diagnosis: Diagnosis,
  { json, quiet }: Pick<ReportOptions, "json" | "quiet">,
  screen: Terminal["screen"],
): Promise<string> {
  if (!json) {
    const { renderDiagnosis } = await import("../lib/render/doctor_text.ts");
    return renderDiagnosis(diagnosis, { screen, isQuiet: quiet ?? false });
  }
  const [{ encodeDiagnosis }, { renderJson }] = await Promise.all([
    import("../lib/model/doctor_json.ts"),
    import("../lib/render/json.ts"),
  ]);
  const checks = quiet ? diagnosis.checks.filter(({ status }) => status === "finding") : diagnosis.checks;
  return renderJson(encodeDiagnosis({ ...diagnosis, checks }));
}
