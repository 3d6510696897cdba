/** What single processes have of the driver's nodes, asked again and again while they run. */
import type { Pid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { milliseconds } from "../core/units.ts";
import type { DeviceUse } from "../model/observation.ts";
import { openDescriptorReader } from "../native/descriptor_reader.ts";
import type { Clock, UseReader } from "../world/ports.ts";
import type { Libc } from "../native/libc.ts";
import { readHeldNodes } from "./descriptors.ts";
import { type DeviceRecogniser, learnFiles, type NodeFile } from "./devices.ts";
import { readMappingsOfWaiting } from "./memory.ts";
import { joinUses } from "./uses.ts";

/** How long all the processes of one look are waited for that are stuck in the driver. */
const PATIENCE = milliseconds(250);

/** Opens a reader. @throws {Error} if there is no /proc. */
export function openUseReader(
  { libc, recogniser, clock, procRoot = "/proc" }: {
    readonly libc: Libc;
    readonly recogniser: DeviceRecogniser;
    readonly clock: Pick<Clock, "pause">;
    readonly procRoot?: string;
  },
): UseReader {
  const reader = openDescriptorReader(libc, procRoot);
  const files = new Map<string, NodeFile>();
  const readUses = async (pid: Pid, late: Promise<unknown>): Promise<Reading<readonly DeviceUse[]>> => {
    const held = readHeldNodes(pid, { reader, recogniser, procRoot }, files);
    if (held === "gone") return absent("exited");
    if (held === "unreadable") return absent("no-permission", `${procRoot}/${pid}/fd`);
    const taught = learnFiles(recogniser, [...files.values()]);
    const mappings = await readMappingsOfWaiting(`${procRoot}/${held.task}`, taught, late);
    return known(joinUses(held.nodes, mappings));
  };
  return {
    async readUses(pids) {
      const late = clock.pause(PATIENCE);
      return new Map(await Promise.all(pids.map(async (pid) => [pid, await readUses(pid, late)] as const)));
    },
    [Symbol.dispose]: () => reader[Symbol.dispose](),
  };
}
