/** `gpuctl snapshot`: who holds the GPUs, and why. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { narrowSnapshot } from "../lib/analysis/narrow_snapshot.ts";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { isDriverAnswering, type Snapshot } from "../lib/model/snapshot.ts";
import type { Terminal, World } from "../lib/world/ports.ts";
import { chooseWithLost } from "./choose_with_lost.ts";
import { deadlineOption, gpuOption, newCommand, sourceOption } from "./options.ts";

/** Builds the command. */
export function snapshotCommand(world: World, end: (ending: Ending) => void): CommandUnknownOpts {
  return newCommand("snapshot", "show who holds the GPUs, and why")
    .description(
      "Shows every GPU, every process that has one open, mapped or a context on it, what it is and why, memory of " +
        "processes that are dead and who keeps it, and memory that no process explains.",
    )
    .addOption(sourceOption())
    .addOption(gpuOption())
    .addOption(
      new Option("--format <how>", "how to print it").choices(["table", "json", "csv", "prometheus"])
        .default("table"),
    )
    .option("--json", "the same as --format json")
    .option("--utilization", "also ask how busy each GPU is (about 4 ms a GPU)")
    .option("-o, --output <file>", "write to a file: whole or not at all, readable by its owner only")
    .option("--world-readable", "let everybody read that file, such as node_exporter under a user of its own")
    .option("--redact", "leave out who and where, so that it can be shown to strangers (see below)")
    .addOption(deadlineOption())
    .addHelpText("after", NOTES)
    .action(async (options) => {
      if (options.worldReadable && options.output === undefined) {
        throw new GpuctlError(
          "usage",
          "Cannot make the output world-readable: no --output says where it goes",
        );
      }
      const looking = world.look(options.source, {
        within: options.deadline,
        withUtilization: options.utilization ?? false,
      });
      // Loaded while the driver thinks.
      const [snapshot, render] = await Promise.all([
        looking,
        loadRenderer(options.json ? "json" : options.format),
      ]);
      const { unreadableGpus } = snapshot;
      const named = chooseWithLost(
        { gpus: snapshot.gpus.map(({ gpu }) => gpu), unreadableGpus },
        options.gpu,
      );
      const chosen = narrowSnapshot(snapshot, named);
      const shown = options.redact ? await redact(chosen) : chosen;
      if (options.output === undefined) world.terminal.out(render(shown, world.terminal.screen));
      else {
        world.files.writeWhole(options.output, render(shown, undefined), {
          isWorldReadable: options.worldReadable ?? false,
        });
      }
      end(judge(shown));
    });
}

const NOTES = `
Exit status:
  0  the driver answered, and every GPU that was asked for could be read
  2  usage
  3  the driver did not answer, or has no GPU, or one could not be read; the rest is
     told all the same
  4  a file could not be read or written for want of permission

What --redact replaces, the same by the same everywhere in one output (user-1, name-2, GPU-00000001-...): users and uids from 1000 on, host name, boot id, process
names, arguments, paths, cgroups, units, login sessions, containers, pods, lettered job ids, UUIDs of GPUs and MIG
devices, and in sentences every word that is not gpuctl's own.

What stays: pids, numbered job ids and other numbers, times, PCI addresses, kinds of GPU, versions, the shape
  of a path, and names that every machine may have (root, python3, torchrun, Xorg, nvidia-persistenced, /usr/bin).
Each output counts anew: user-1 of two files need not be one user. To compare two, compare them first.

Examples:
  gpuctl snapshot
  gpuctl snapshot --gpu 0-3 --json
  gpuctl snapshot --source saved.txt          what nvidia-smi printed elsewhere`;

async function redact(snapshot: Snapshot): Promise<Snapshot> {
  const { redactSnapshot } = await import("../lib/analysis/redact.ts");
  return redactSnapshot(snapshot);
}

/** A look that saw no GPU, or not all of them, or whose driver did not answer, is no answer. */
function judge(snapshot: Snapshot): Ending {
  const { gpus, unreadableGpus } = snapshot;
  return isDriverAnswering(snapshot) && gpus.length > 0 && unreadableGpus.length === 0 ? "ok" : "unavailable";
}

type Renderer = (snapshot: Snapshot, screen: Terminal["screen"]) => string;

async function loadRenderer(format: "table" | "json" | "csv" | "prometheus"): Promise<Renderer> {
  switch (format) {
    case "json":
      return (await import("../lib/render/snapshot_json.ts")).renderSnapshotJson;
    case "csv":
      return (await import("../lib/render/snapshot_csv.ts")).renderSnapshotCsv;
    case "prometheus":
      return (await import("../lib/render/snapshot_prometheus.ts")).renderSnapshotPrometheus;
    case "table":
      return (await import("../lib/render/snapshot_table.ts")).renderSnapshotTable;
  }
}
