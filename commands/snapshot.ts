/** `gpuctl snapshot`: who holds the GPUs, and why. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import type { Ending } from "../lib/core/errors.ts";
import type { Snapshot } from "../lib/model/snapshot.ts";
import type { Terminal, World } from "../lib/world/ports.ts";
import { chooseGpus, deadlineOption, gpuOption, newCommand, sourceOption } from "./options.ts";

/** Builds the command. */
export function snapshotCommand(world: World, end: (ending: Ending) => void): CommandUnknownOpts {
  return newCommand("snapshot", "show who holds the GPUs, and why")
    .description(
      "Shows every GPU, every process that has one open, mapped or a context on it, what it is and why, memory of\n" +
        "processes that are dead and who keeps it, and memory that no process explains.",
    )
    .addOption(sourceOption())
    .addOption(gpuOption())
    .addOption(
      new Option("--format <how>", "how to print it").choices(["table", "json", "csv"]).default("table"),
    )
    .option("--json", "the same as --format json")
    .option("--utilization", "also ask how busy each GPU is (about 4 ms a GPU)")
    .option("-o, --output <file>", "write to a file: whole or not at all, readable by its owner only")
    .addOption(deadlineOption())
    .action(async (options) => {
      const looking = world.look(options.source, {
        within: options.deadline,
        withUtilization: options.utilization ?? false,
      });
      // Loaded while the driver thinks.
      const [snapshot, render] = await Promise.all([
        looking,
        loadRenderer(options.json ? "json" : options.format),
      ]);
      const shown = narrow(snapshot, new Set(chooseGpus(snapshot.gpus.map(({ gpu }) => gpu), options.gpu)));
      if (options.output === undefined) world.terminal.out(render(shown, world.terminal.screen));
      else world.files.writeWhole(options.output, render(shown, undefined));
      end(judge(shown));
    });
}

/** The part of a snapshot that is about some of its GPUs. */
function narrow(snapshot: Snapshot, gpus: ReadonlySet<Snapshot["gpus"][number]["gpu"]>): Snapshot {
  if (gpus.size === snapshot.gpus.length) return snapshot;
  const uuids = new Set([...gpus].map(({ uuid }) => uuid));
  return {
    ...snapshot,
    gpus: snapshot.gpus.filter(({ gpu }) => gpus.has(gpu)),
    holders: snapshot.holders.map((holder) => ({
      ...holder,
      devices: holder.devices.filter(({ gpu }) => uuids.has(gpu)),
    }))
      .filter(({ devices }) => devices.length > 0),
    ghosts: snapshot.ghosts.filter(({ gpu }) => uuids.has(gpu)),
  };
}

/** A look that saw no GPU, or whose driver did not answer, is no answer. */
function judge(snapshot: Snapshot): Ending {
  const isAnswered = snapshot.driver.ok && snapshot.source !== "proc";
  return isAnswered && snapshot.gpus.length > 0 ? "ok" : "unavailable";
}

type Renderer = (snapshot: Snapshot, screen: Terminal["screen"]) => string;

async function loadRenderer(format: "table" | "json" | "csv"): Promise<Renderer> {
  switch (format) {
    case "json":
      return (await import("../lib/render/snapshot_json.ts")).renderSnapshotJson;
    case "csv":
      return (await import("../lib/render/snapshot_csv.ts")).renderSnapshotCsv;
    case "table":
      return (await import("../lib/render/snapshot_table.ts")).renderSnapshotTable;
  }
}
