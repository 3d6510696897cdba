import { known } from "../../core/reading.ts";
import type { GpuIdentity } from "../identity_report.ts";
import { readSimServer } from "./server.ts";

/**
 * The GPUs of a simulated server as the kernel would know them, without its driver.
 *
 * @throws {GpuctlError} if there is no such server
 */
export function readSimIdentities(directory: string): GpuIdentity[] {
  return readSimServer(directory).gpus
    .map(({ uuid, name, busId, minor }) => ({
      uuid,
      name: known(name),
      busId: known(busId),
      minor: known(minor),
    }));
}
