/**
 * The driver's device nodes as files. None of them is opened, which would wake a GPU or hang with the driver: access(2) asks
 * the file's permissions first and the cgroup's device rules after them (devcgroup_inode_permission), and no driver.
 */
import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { errnoOf, messageOf } from "../core/errors.ts";
import { absent, known, mapReading, type Reading } from "../core/reading.ts";
import type { NodeAccess, NodeFile } from "../model/doctor_facts.ts";
import type { DeviceNode } from "../model/observation.ts";
import { createRecogniser, majorOf, minorOf, nodeKey, parseDevices } from "./devices.ts";
import { isDenied, isGone, readText } from "./files.ts";

/** `/dev/nvidia0` and its like; `nvidia-caps` is a folder. */
const NAME = /^nvidia(?:\d{1,3}|ctl|-uvm|-uvm-tools|-modeset)$/;
const FOR_EVERYBODY = 0o006;
const MODE_BITS = 0o7777;

/**
 * Reads the nodes in the order of their names.
 *
 * @param root the machine's root directory
 */
export function readDeviceNodes(root: string): Reading<readonly NodeFile[]> {
  const directory = join(root, "dev");
  const majors = mapReading(readText(join(root, "proc/devices")), parseDevices);
  const { ofDevice, ofPath } = createRecogniser(majors.ok ? majors.value : new Map(), []);
  try {
    const names = readdirSync(directory).filter((name) => NAME.test(name))
      .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    return known(names.flatMap((name): NodeFile[] => {
      const node = ofPath(`/dev/${name}`);
      const stat = statSync(join(directory, name), { throwIfNoEntry: false });
      if (node === undefined || stat === undefined) return [];
      const found = stat.isCharacterDevice() ? ofDevice(majorOf(stat.rdev), minorOf(stat.rdev)) : undefined;
      return [{
        path: `/dev/${name}`,
        node,
        access: readNodeAccess(join(directory, name)),
        isForEverybody: (stat.mode & FOR_EVERYBODY) === FOR_EVERYBODY,
        permissions: describePermissions(stat),
        isCurrent: mapReading(majors, () => isSameNode(found, node)),
      }];
    }));
  } catch (error) {
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}

/** Says whether this user may read and write a node. */
export function readNodeAccess(path: string): Reading<NodeAccess> {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return known("granted");
  } catch (error) {
    if (errnoOf(error) === "EACCES") return known("refused");
    if (errnoOf(error) === "EPERM") return known("refused-by-rules");
    return isGone(error) ? absent("failed", "it is gone") : absent("failed", messageOf(error));
  }
}

/** Owner, group and mode of a file, as numbers. */
export function describePermissions(
  { uid, gid, mode }: { readonly uid: number; readonly gid: number; readonly mode: number },
): string {
  return `${uid}:${gid} ${(mode & MODE_BITS).toString(8).padStart(4, "0")}`;
}

function isSameNode(found: DeviceNode | undefined, named: DeviceNode): boolean {
  return found !== undefined && nodeKey(found) === nodeKey(named);
}
