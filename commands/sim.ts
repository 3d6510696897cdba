/** `gpuctl sim`: GPU servers that are simulated, for trying gpuctl and for tests. */
import { Command, type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { plural, quoteArguments } from "../lib/core/text.ts";
import { type Bytes, bytes, parseSize } from "../lib/core/units.ts";
import { type JobPlan, SCENES } from "../lib/model/simulation.ts";
import type { SourceChoice } from "../lib/model/source_choice.ts";
import type { Terminal, World } from "../lib/world/ports.ts";
import { durationOption, newCommand, parsedBy, sizeOption, sourceOption } from "./options.ts";

/** The part of the world that this command needs. */
export type SimWorld = Pick<World, "simulation"> & { readonly terminal: Pick<Terminal, "out"> };

type End = (ending: Ending) => void;

const GIBIBYTE = bytes(1024 ** 3);

/** Builds the command. */
export function simCommand(world: SimWorld, end: End): CommandUnknownOpts {
  return newCommand("sim", "simulate a GPU server and jobs on it")
    .description(
      "Makes a simulated GPU server in a directory and runs jobs on it, on any machine. Jobs are real processes that hold " +
        "simulated memory: it is given back when the last process that has it is gone. Every other command works on such " +
        "a server with --source sim:DIR.",
    )
    .addCommand(initCommand(world, end))
    .addCommand(holdCommand(world, end))
    .addCommand(workerCommand(world, end), { hidden: true });
}

function initCommand({ simulation, terminal }: SimWorld, end: End): CommandUnknownOpts {
  return newCommand("init", "make a simulated server, or give one other faults")
    .description(
      "Makes a simulated server in a directory. One that is there already keeps its GPUs and its jobs, and gets the faults " +
        "of the file, or none, in place of those it had.",
    )
    .argument("<directory>", "", parsedBy(parseDirectory))
    .addOption(new Option("--gpus <number>", "how many GPUs; 2 unless told").argParser(parsedBy(parseCount)))
    .addOption(sizeOption("--memory <size>", "memory of each GPU; that of an H200 unless told"))
    .option("--name <text>", 'what the GPUs are called; "NVIDIA H200" unless told')
    .option("--faults <file>", "TOML file with what is wrong with the server")
    .addHelpText("after", FAULTS_HELP)
    .action(async (directory, { faults, ...plan }) => {
      const gpus = await simulation.init(directory, {
        ...plan,
        ...faults !== undefined && { faultsPath: faults },
      });
      const source = quoteArguments([`sim:${directory}`]);
      terminal.out(
        `Simulated server with ${plural(gpus, "GPU")}. To look at it: gpuctl snapshot --source ${source}\n`,
      );
      end("ok");
    });
}

const FAULTS_HELP = `
Faults, all optional:
  hang = true                    the driver never answers
  latency = "40ms"               how long each answer takes
  memory-api = "v1"              memory used includes the driver's reserve
  cuda-order = [1, 0]            how CUDA numbers the GPUs unless CUDA_DEVICE_ORDER is PCI_BUS_ID
  xids = ["NVRM: Xid (…): 79"]   lines of the kernel's log
  kernel-log = "denied"          or "overwritten": its beginning is gone
  modules = [{ name = "nvidia_drm", references = 1, used-by = [] }]
  drm-modeset = true             nvidia_drm, if it is among the modules, sets display modes
  services = [{ unit = "nvidia-dcgm.service", active = true, main-pid = 812 }]
  platform = "virtual-machine"   or "wsl", "tegra"
  container = true               gpuctl runs in a container there
  library-version = "570.86.15"  the libraries are of another version than the kernel module
  device-access = "refused"      or "refused-by-rules", "missing": opening /dev/nvidia*
  mps-daemon = "dead"            or "alive": the MPS daemon that programs are led to
  container-tools = "stale"      or "complete", "no-toolkit": docker and what gives it GPUs
  [gpu.0]
  lost = true                    it has fallen off the bus
  recovery-action = "reset"      what the driver says that it needs
  process-list = "denied"        or "truncated"
  unattributed = "3GiB"          used by no process
  utilization-latch = true       100 % with nothing running
  mps = true                     jobs are clients of an MPS server
  name = "NVIDIA L4"             another model, with
  memory = "24GiB"               another size
  persistence = false            persistence mode is off
  display = true                 a display is active on it
  console = true                 the machine's console is on it
  ecc-pending = true             ECC is switched at the next reset
  uncorrected-errors = 2         since the driver was loaded
  remap-pending = true           a row is remapped at the next reset
  remap-failed = true            a row could not be remapped
  retirement-pending = true      a page is retired at the next reset
  nvlink-peers = [1]             GPUs that it is linked to
  nvswitch = true                it is linked to an NVSwitch
  virtualization = "vgpu-host"   or "passthrough", "vgpu-guest", "vsga-host"
  fabric = "in-progress"         or "not-started", "completed", with
  fabric-status = 23             the nvmlReturn_t of its registration
  sm-clock = 1980                MHz
  architecture = "Ampere"        "Hopper" unless told
  [[gpu.0.mig]]                  divided: a MIG device for each of these
  gpu-instance = 1
  compute-instance = 0
  profile = "1g.18gb"
  memory = "16GiB"`;

function holdCommand({ simulation }: SimWorld, end: End): CommandUnknownOpts {
  return newCommand("hold", "run a job on a simulated server")
    .description(
      "Runs a job that holds memory on a simulated server until its time is over or a signal ends it. CUDA_VISIBLE_DEVICES " +
        "and CUDA_DEVICE_ORDER are obeyed. Once the scene stands it prints a line ready PID: the process that holds the " +
        "memory. Lines before that name the process that it is charged to, where that is dead (dead PID), and each of " +
        "several holders (holder PID).",
    )
    .option("--sim <directory>", "the server; the same as --source sim:DIR")
    .addOption(sourceOption())
    .addOption(
      new Option(
        "--gpu <list>",
        "GPUs as the job numbers them, such as 0,1: it counts those that it sees, as CUDA does",
      )
        .argParser(parsedBy(parseGpuNumbers)),
    )
    .addOption(
      sizeOption("--bytes <size>", "what each process allocates on each GPU beside its context").default(
        GIBIBYTE,
        "1GiB",
      ),
    )
    .addOption(
      new Option("--grow <pace>", "take more and more, such as 100MiB/s, until the GPU is full")
        .argParser(parsedBy(parseGrowth)),
    )
    .addOption(durationOption("--for <time>", "how long the scene lasts; until a signal unless told"))
    .addOption(
      new Option("--scene <name>", "what happens to the memory").choices(SCENES).default("plain" as const),
    )
    .option(
      "--clean-exit",
      "end the job of a scene that leaves others behind with status 0 instead of SIGKILL",
    )
    .addOption(
      new Option("--ranks <number>", "start this many ranks, one a GPU").argParser(parsedBy(parseCount)),
    )
    .option("--stray-context", "also take a context on the first GPU by mistake")
    .option(
      "--late-variable",
      "name the GPUs in CUDA_VISIBLE_DEVICES too late: the first ones are used instead",
    )
    .option("--peer-contexts", "ranks also take a context on each other's GPUs, as NCCL may")
    .option("--set-visible-devices <list>", "set CUDA_VISIBLE_DEVICES in the job itself, before CUDA starts")
    .option("--erase-environment", "write over the environment, as setproctitle does")
    .addHelpText("after", SCENES_HELP)
    .action(async ({ sim, source, gpu, bytes: size, grow, for: runFor, scene, ranks, ...flags }) => {
      if (grow !== undefined && (ranks !== undefined || scene !== "plain")) {
        throw new GpuctlError("usage", "Cannot grow: only a plain job does, and none with ranks");
      }
      if (ranks !== undefined && scene !== "plain") {
        throw new GpuctlError(
          "usage",
          `Cannot start ranks in the scene ${scene}: ranks have a scene of their own`,
        );
      }
      if (flags.peerContexts && ranks === undefined) {
        throw new GpuctlError(
          "usage",
          "Cannot take contexts on the GPUs of other ranks: --ranks starts none",
        );
      }
      const plan: JobPlan = {
        directory: sim ?? directoryOf(source),
        gpus: gpu ?? Array.from({ length: ranks ?? 1 }, (_, place) => place),
        size,
        scene,
        endsCleanly: flags.cleanExit ?? false,
        hasStrayContext: flags.strayContext ?? false,
        hasPeerContexts: flags.peerContexts ?? false,
        setsVariableLate: flags.lateVariable ?? false,
        erasesEnvironment: flags.eraseEnvironment ?? false,
        ...flags.setVisibleDevices !== undefined && { visibleDevices: flags.setVisibleDevices },
        ...grow !== undefined && { growth: grow },
        ...runFor !== undefined && { runFor },
        ...ranks !== undefined && { ranks },
      };
      end(await simulation.hold(plan));
    });
}

const SCENES_HELP = `
Scenes:
  plain                a job at work
  monitor              has the devices open, nothing mapped
  forked-child         the job is killed; a child that it forked keeps its memory
  zombie-leader        the main thread is dead, others live and hold everything
  spawn-orphans        multiprocessing workers whose main process is killed
  dataloader-orphans   PyTorch loader workers whose main process is killed; they leave by themselves within 6 s
  ipc-importer         memory of a killed process that another one has imported
  stopped              suspended (SIGSTOP)
  slow-release         memory comes back bit by bit after the job's end`;

/** What a scene's main process starts. It takes its order from standard input: its words are for onlookers. */
function workerCommand({ simulation }: SimWorld, end: End): CommandUnknownOpts {
  return new Command("worker").argument("[words...]").action(async () => {
    await simulation.work();
    end("ok");
  });
}

function directoryOf(source: SourceChoice): string {
  if (source.kind === "sim") return source.directory;
  throw new GpuctlError("usage", "Cannot run a job: no simulated server is named", {
    hint: "--sim DIR names one; so does GPUCTL_SOURCE=sim:DIR",
  });
}

function parseDirectory(text: string): string {
  if (text === "") throw new SyntaxError("Cannot make a simulated server in a directory without a name");
  return text;
}

function parseCount(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw new SyntaxError(`Cannot parse "${text}" as a number: expected 1 or more`);
  return count;
}

function parseGrowth(text: string): Bytes {
  const [, size] = /^(.+)\/s$/.exec(text) ?? [];
  if (size !== undefined) return parseSize(size);
  throw new SyntaxError(`Cannot parse "${text}" as a pace: expected a size a second, such as 100MiB/s`);
}

function parseGpuNumbers(text: string): number[] {
  if (!/^\d{1,3}(?:,\d{1,3})*$/.test(text)) {
    throw new SyntaxError(`Cannot parse "${text}" as GPUs of a job: expected numbers, such as 0,1`);
  }
  const gpus = text.split(",").map(Number);
  if (new Set(gpus).size < gpus.length) {
    throw new SyntaxError(`Cannot parse "${text}" as GPUs of a job: one is named twice`);
  }
  return gpus;
}
