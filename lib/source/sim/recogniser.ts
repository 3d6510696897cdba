/** Which files stand for device nodes: those of a simulated server, in place of the driver's. */
import { statSync } from "node:fs";
import type { DeviceNode } from "../../model/observation.ts";
import { type DeviceRecogniser, indexFiles } from "../../proc/devices.ts";
import { controlNodePath, gpuNodePath, readSimServer, uvmNodePath } from "./server.ts";

/**
 * Recognises the nodes of the simulated server in a directory and no others.
 *
 * @throws {GpuctlError} if there is no such server.
 */
export function simRecogniser(directory: string): DeviceRecogniser {
  const server = readSimServer(directory);
  const nodes: ReadonlyMap<string, DeviceNode> = new Map([
    ...server.gpus.map(({ minor }): [string, DeviceNode] => [
      gpuNodePath(server.directory, minor),
      { kind: "gpu", minor },
    ]),
    [controlNodePath(server.directory), { kind: "control" }],
    [uvmNodePath(server.directory), { kind: "uvm" }],
  ]);
  const files = [...nodes].map(([path, node]) => {
    const { dev, ino } = statSync(path, { bigint: true });
    return { device: dev, inode: ino, node };
  });
  return {
    ofDevice: () => undefined,
    ofFile: indexFiles(files),
    ofPath: (path) => nodes.get(path.replace(/ \(deleted\)$/, "")),
  };
}
