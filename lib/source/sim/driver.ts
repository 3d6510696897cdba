/** The driver of a simulated server: like the real one it knows who allocated memory and that somebody still holds it. */
import { isPid } from "../../core/ids.ts";
import type { DriverReport } from "../../model/gpu.ts";
import { openLibc } from "../../native/libc.ts";
import { sleep } from "../../native/sleep.ts";
import type { LookExtras } from "../../world/ports.ts";
import type { AllocationName } from "./allocation.ts";
import { bindMemoryLocks } from "./locks.ts";
import { readHeldMemory } from "./memory.ts";
import { findOuterPids, ownPidNamespace } from "./pid_namespace.ts";
import { describeServer } from "./report.ts";
import { readSimServer } from "./server.ts";

export interface SimDriver extends Disposable {
  /**
   * Looks at the server. Never returns where the driver hangs: only the end of the process does.
   *
   * @throws {GpuctlError} if there is no such server
   */
  read(extras: LookExtras): DriverReport;
}

/** Opens the driver of the simulated server in a directory. */
export async function openSimDriver(directory: string): Promise<SimDriver> {
  const libc = await openLibc();
  const locks = bindMemoryLocks(libc);
  const own = ownPidNamespace();
  return {
    read(extras) {
      const server = readSimServer(directory);
      if (server.faults.hangs) sleep();
      if (server.faults.latency > 0) sleep(server.faults.latency);
      const findOuterPid = findOuterPids();
      const ownerOf = ({ pid, pidNamespace }: AllocationName) =>
        pidNamespace !== own ? findOuterPid(pid, pidNamespace) : isPid(pid) ? pid : undefined;
      const held = readHeldMemory(directory, server.gpus.map(({ index }) => index), locks);
      const charged = held.map((memory) => ({ ...memory, owner: ownerOf(memory.name) }));
      return describeServer(server, charged, extras);
    },
    [Symbol.dispose]: () => libc[Symbol.dispose](),
  };
}
