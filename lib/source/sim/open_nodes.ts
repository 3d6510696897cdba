import type { Pid } from "../../core/ids.ts";
import { milliseconds } from "../../core/units.ts";
import type { DeviceNode } from "../../model/observation.ts";
import { openDescriptorReader } from "../../native/descriptor_reader.ts";
import { openLibc } from "../../native/libc.ts";
import { scanDescriptors } from "../../proc/descriptors.ts";
import { simRecogniser } from "./recogniser.ts";

/** Which nodes of a simulated server each process has open, whatever for. */
export async function findOpenNodes(directory: string): Promise<ReadonlyMap<Pid, readonly DeviceNode[]>> {
  using libc = await openLibc();
  using reader = openDescriptorReader(libc, "/proc");
  const { held } = scanDescriptors({
    reader,
    recogniser: simRecogniser(directory),
    clock: { monotonic: () => milliseconds(0) },
    deadline: milliseconds(1),
    procRoot: "/proc",
  });
  return new Map(Array.from(held, ([pid, { nodes }]) => [pid, nodes.map(({ node }) => node)]));
}
