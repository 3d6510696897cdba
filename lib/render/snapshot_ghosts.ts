/** The ghosts of a snapshot for a person: what the dead still have, and who most likely keeps it. */
import { plural, printable, truncate } from "../core/text.ts";
import { formatBytes } from "../core/units.ts";
import type { Ghost, LikelyHolder, Snapshot } from "../model/snapshot.ts";
import { wrap } from "./layout.ts";
import { formatGpus, formatShortCommand, nameGpus } from "./snapshot_columns.ts";
import type { TableOptions } from "./table.ts";

const COMMAND_WIDTH = 40;

/** A block of lines about the ghosts; empty where there are none. */
export function ghostLines(snapshot: Snapshot, { width, paint }: TableOptions): string[] {
  if (snapshot.ghosts.length === 0) return [];
  const lines = groupGhosts(snapshot.ghosts).flatMap((ghosts) => [
    ...wrap(printable(describeGhosts(ghosts, snapshot)), { width, label: "  " }),
    ...reasonsNotSaid(ghosts, snapshot).flatMap((reason, place) =>
      wrap(printable(reason), { width, label: place === 0 ? "      why:  " : "      and:  " })
    ),
  ]);
  return [paint("HELD BY THE DEAD", "bold"), ...lines];
}

/** One process's contexts on several GPUs are one ghost to a person, if the same processes keep them. */
function groupGhosts(ghosts: readonly Ghost[]): Ghost[][] {
  const groups = new Map<string, Ghost[]>();
  for (const ghost of ghosts) {
    const key = JSON.stringify([ghost.pid, ghost.likelyHolders.map(({ pid }) => pid)]);
    groups.set(key, [...groups.get(key) ?? [], ghost]);
  }
  return [...groups.values()];
}

function describeGhosts(ghosts: readonly Ghost[], snapshot: Snapshot): string {
  const [first] = ghosts;
  if (first === undefined) return "";
  const names = nameGpus(snapshot);
  const parts = ghosts.map(({ contextBytes, gpu }) =>
    `${contextBytes.ok ? formatBytes(contextBytes.value) : "memory of unknown size"} on GPU ${
      formatGpus([gpu], names)
    }`
  );
  return `PID ${first.pid} is dead; its ${parts.join(" and ")} ${
    describeKeepers(first.likelyHolders, snapshot)
  }`;
}

function describeKeepers(keepers: readonly LikelyHolder[], { holders }: Snapshot): string {
  const [first] = keepers;
  if (first === undefined) return "are kept alive by no process that can be seen";
  const holder = holders.find(({ pid }) => pid === first.pid);
  const command = holder === undefined ? "" : ` (${truncate(formatShortCommand(holder), COMMAND_WIDTH)})`;
  if (keepers.length === 1) return `are most likely kept alive by PID ${first.pid}${command}`;
  const others = keepers.slice(1).map(({ pid }) => pid).join(", ");
  return `are most likely kept alive by ${
    plural(keepers.length, "process", "processes")
  }, until the last of them ends: ` +
    `PID ${first.pid}${command}, ${others}`;
}

/** The reasons that no likely holder has among its evidence, which stands above. */
function reasonsNotSaid(ghosts: readonly Ghost[], { holders }: Snapshot): string[] {
  const reasons = ghosts.flatMap(({ likelyHolders }) =>
    likelyHolders.flatMap(({ pid, reasons }) => {
      const said = holders.find((holder) => holder.pid === pid)?.evidence ?? [];
      return reasons.filter((reason) => !said.includes(reason)).map((reason) => `PID ${pid} ${reason}`);
    })
  );
  return [...new Set(reasons)];
}
