/** GPUs that the machine's own console is on. */
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { type BusId, parseBusId } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { isDenied, isGone } from "./files.ts";
import { isGpuDevice, PCI_ADDRESS, readAttribute } from "./pci_gpus.ts";

/**
 * NVIDIA GPUs that the firmware chose for the console (boot_vga of sysfs-bus-pci), or that have a framebuffer, which the
 * kernel's console takes.
 *
 * @param root the machine's root directory
 */
export function readConsoleGpus(root: string): Reading<ReadonlySet<BusId>> {
  const devices = join(root, "sys/bus/pci/devices");
  try {
    const gpus = readdirSync(devices).filter((name) =>
      PCI_ADDRESS.test(name) && isGpuDevice(join(devices, name))
    );
    const framebuffers = listFramebufferDevices(join(root, "sys/class/graphics"));
    const consoles = gpus.filter((name) =>
      readAttribute(join(devices, name, "boot_vga")) === "1" || framebuffers.has(name)
    );
    return known(new Set(consoles.map(parseBusId)));
  } catch (error) {
    if (isGone(error)) return absent("not-supported", `there is no ${devices}`);
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}

/** The PCI devices of all framebuffers. One that the firmware set up is a device of its own below the PCI device. */
function listFramebufferDevices(graphics: string): ReadonlySet<string> {
  const names = namesIn(graphics).filter((name) => /^fb\d+$/.test(name));
  const addresses = names.map((name) => {
    const path = findRealPath(join(graphics, name, "device"));
    return path?.split("/").findLast((part) => PCI_ADDRESS.test(part));
  });
  return new Set(addresses.filter((address) => address !== undefined));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isGone(error)) return []; // A kernel without framebuffers.
    throw error;
  }
}

function findRealPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isGone(error)) return undefined; // A framebuffer without a device.
    throw error;
  }
}
