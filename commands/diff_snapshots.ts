/** The half of `gpuctl diff` that compares two snapshots. Loaded when two are named. */
import { endingOfSnapshots } from "../lib/analysis/diff_status.ts";
import { diffSnapshots, type NamedSnapshot } from "../lib/analysis/diff_snapshots.ts";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import type { SnapshotDiff } from "../lib/model/diff.ts";
import type { Snapshot } from "../lib/model/snapshot.ts";
import type { Screen, World } from "../lib/world/ports.ts";
import type { DiffJobOptions } from "./diff_job.ts";
import { chooseGpus } from "./options.ts";

const NOW = "-";
/** What means nothing without a command. */
const FOR_A_COMMAND = ["pin", "timeout", "killLeftovers", "record", "report"] as const;

/**
 * Compares two snapshots, reports, and gives the ending.
 *
 * @throws {GpuctlError} if one cannot be read, or if an option is for a command
 */
export async function diffSnapshotsCommand(
  { before, after, hint }: { readonly before: string; readonly after: string; readonly hint: string },
  options: DiffJobOptions,
  world: World,
): Promise<Ending> {
  refuseJobOptions(options);
  if (before === NOW && after === NOW) {
    throw new GpuctlError("usage", "Cannot compare the machine now with itself", {
      hint: "save a snapshot first: gpuctl snapshot --json -o before.json",
    });
  }
  // In this order, so that "now" is not older than the file it is compared with had to be read.
  const first = await readSnapshot(before, { options, hint }, world);
  const second = await readSnapshot(after, { options, hint }, world);
  const [left, right] = narrow(first, second, options);
  const diff = diffSnapshots(left, right, options.tolerance);
  const screen = options.output === undefined ? world.terminal.screen : undefined;
  const text = await render(diff, options.json ?? false, screen);
  if (options.output === undefined) world.terminal.out(text);
  else world.files.writeWhole(options.output, text);
  return endingOfSnapshots(diff);
}

/** @param hint is for whoever took a command's name for a file's. */
async function readSnapshot(
  name: string,
  { options, hint }: { readonly options: DiffJobOptions; readonly hint: string },
  world: World,
): Promise<NamedSnapshot> {
  const look = { within: options.deadline, withUtilization: false };
  if (name === NOW) return { name: "now", snapshot: await world.look(options.source, look) };
  try {
    return { name, snapshot: await world.look({ kind: "file", path: name }, look) };
  } catch (error) {
    if (!(error instanceof GpuctlError) || error.hint !== undefined) throw error;
    throw new GpuctlError(error.failure, error.message, { hint, cause: error });
  }
}

function narrow(
  first: NamedSnapshot,
  second: NamedSnapshot,
  { gpu: selectors }: DiffJobOptions,
): [NamedSnapshot, NamedSnapshot] {
  if (selectors === undefined) return [first, second];
  const chosen = new Set(
    chooseGpus(second.snapshot.gpus.map(({ gpu }) => gpu), selectors).map(({ uuid }) => uuid),
  );
  const only = ({ name, snapshot }: NamedSnapshot): NamedSnapshot => ({
    name,
    snapshot: {
      ...snapshot,
      gpus: snapshot.gpus.filter(({ gpu }) => chosen.has(gpu.uuid)),
    } satisfies Snapshot,
  });
  return [only(first), only(second)];
}

function refuseJobOptions(options: DiffJobOptions): void {
  const given = FOR_A_COMMAND.find((name) => options[name] !== undefined);
  if (given === undefined) return;
  const flag = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new GpuctlError("usage", `Cannot use --${flag} with two snapshots: it is for a command`, {
    hint: "a command stands after --",
  });
}

async function render(
  diff: SnapshotDiff,
  asJson: boolean,
  screen: Screen | undefined,
): Promise<string> {
  if (asJson) {
    const [{ encodeSnapshotDiff }, { renderJson }] = await Promise.all([
      import("../lib/model/diff_json.ts"),
      import("../lib/render/json.ts"),
    ]);
    return renderJson(encodeSnapshotDiff(diff));
  }
  const [{ renderSnapshotDiff }, { optionsFor }] = await Promise.all([
    import("../lib/render/diff_text.ts"),
    import("../lib/render/screen.ts"),
  ]);
  return renderSnapshotDiff(diff, optionsFor(screen));
}
