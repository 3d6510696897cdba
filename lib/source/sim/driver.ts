/** The driver of a simulated server: like the real one it knows who allocated memory and that somebody still holds it. */
import { isPid, pid } from "../../core/ids.ts";
import type { DriverReport } from "../../model/gpu.ts";
import { openKernel } from "./kernel.ts";
import { readHeldMemory, readPidNamespace } from "./memory.ts";
import { outerPids } from "./outer_pids.ts";
import { describeServer } from "./report.ts";
import { readSimServer } from "./server.ts";
import { sleep } from "./wait.ts";

export interface SimDriver extends Disposable {
  /**
   * Looks at the server. Never returns where the driver hangs: only the end of the process does.
   *
   * @throws {GpuctlError} if there is no such server
   */
  read(options: { readonly withUtilization: boolean }): DriverReport;
}

/** Opens the driver of the simulated server in a directory. */
export async function openSimDriver(directory: string): Promise<SimDriver> {
  const kernel = await openKernel();
  const pidNamespace = readPidNamespace();
  return {
    read(options) {
      const server = readSimServer(directory);
      if (server.faults.hangs) sleep();
      if (server.faults.latency > 0) sleep(server.faults.latency);
      const findOuterPid = outerPids();
      const held = readHeldMemory(directory, server.gpus.map(({ index }) => index), kernel);
      const charged = held.map((memory) => {
        const { name } = memory;
        const isNear = name.pidNamespace === pidNamespace;
        return {
          ...memory,
          owner: isNear
            ? isPid(name.pid) ? pid(name.pid) : undefined
            : findOuterPid(name.pid, name.pidNamespace),
        };
      });
      return describeServer(server, charged, options);
    },
    [Symbol.dispose]: () => kernel[Symbol.dispose](),
  };
}
