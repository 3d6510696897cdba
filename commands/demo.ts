/** `gpuctl demo`: a tour on a simulated server, each step a command that could have been typed. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { quoteArguments } from "../lib/core/text.ts";
import type { Job, World } from "../lib/world/ports.ts";
import { newCommand } from "./options.ts";

type DemoWorld = Pick<World, "terminal" | "self" | "openJobRunner" | "catchSignals" | "temporaryFolder">;

interface Step {
  readonly says: string;
  readonly command: readonly string[];
  /** The status that shows what the step is to show; another one is a failure of the tour. */
  readonly expects: number;
}

/** Builds the command. */
export function demoCommand(world: DemoWorld, end: (ending: Ending) => void): CommandUnknownOpts {
  return newCommand("demo", "a tour on a simulated server: a job leaks, its holder is named and ended")
    .description(
      "Shows the main job on a simulated server. Needs no GPU and no root, and leaves nothing behind.",
    )
    .action(async () => {
      using folder = world.temporaryFolder();
      await tour(`${folder.path}/server`, world);
      end("ok");
    });
}

function stepsOf(directory: string): readonly Step[] {
  const hold = ["sim", "hold", "--gpu", "0"];
  return [
    {
      says: "A server with two GPUs, simulated. Jobs on it are real processes; only the memory is not.",
      command: ["sim", "init", directory, "--gpus", "2", "--memory", "80GiB"],
      expects: 0,
    },
    {
      says: "A job that behaves: it takes 2 GiB and gives them back.",
      command: ["diff", "--", "gpuctl", ...hold, "--bytes", "2GiB", "--for", "500ms"],
      expects: 0,
    },
    {
      says:
        "A job that does not: it ends, and a child it forked keeps its memory. On a real server nvidia-smi now says " +
        '"No running processes found". Status 10 fails a build.',
      command: [
        ...["diff", "--settle", "1s", "--", "sh", "-c"],
        "gpuctl sim hold --gpu 0 --bytes 12GiB --scene forked-child --for 1m; true",
      ],
      expects: 10,
    },
    { says: "Who holds it, and why?", command: ["snapshot"], expects: 0 },
    {
      says: "What may be ended? Nothing is done yet.",
      command: ["clean-zombies", "--min-age", "0s", "--confirm", "500ms"],
      expects: 10,
    },
    {
      says: "End it, and prove that the memory came back.",
      command: ["clean-zombies", "--min-age", "0s", "--confirm", "500ms", "--yes"],
      expects: 0,
    },
    { says: "All clear.", command: ["snapshot"], expects: 0 },
  ];
}

async function tour(directory: string, world: DemoWorld): Promise<void> {
  // Adopted by the tour, what a step leaves behind would count as supervised.
  using runner = await world.openJobRunner("left");
  let running: Job | undefined;
  // A signal ends the step, and that the tour: only so is its folder removed.
  using _caught = world.catchSignals(({ signal, isFromTerminal }) => {
    if (!isFromTerminal) running?.send(signal);
  });
  for (const { says, command, expects } of stepsOf(directory)) {
    world.terminal.out(`\n# ${says}\n$ ${quoteArguments(["gpuctl", ...command])}\n`);
    const words = command.flatMap((word) => ownWords(word, world.self));
    const job = runner.start([...world.self, ...words], { GPUCTL_SOURCE: `sim:${directory}` });
    if ("message" in job) {
      throw new GpuctlError("unavailable", `Cannot start a step of the tour: ${job.message}`);
    }
    running = job;
    const ended = await job.ended;
    if (!("status" in ended) || ended.status !== expects) {
      throw new GpuctlError(
        "unavailable",
        `Cannot go on with the tour: "${command[0]}" ended otherwise than it should`,
      );
    }
  }
}

/** A step's word as it must be run: `gpuctl` is whatever this program is, also inside a line for the shell. */
function ownWords(word: string, self: readonly string[]): readonly string[] {
  return word === "gpuctl" ? self : [word.replace(/^gpuctl(?= )/, () => quoteArguments(self))];
}
