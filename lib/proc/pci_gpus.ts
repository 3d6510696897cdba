/** NVIDIA's GPUs as the PCI bus shows them, with or without a driver. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { parseBusId } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import type { PciGpu } from "../model/doctor_facts.ts";
import { isDenied, isGone } from "./files.ts";

/** PCI numbers: NVIDIA, and the class of display controllers. */
const NVIDIA = "0x10de";
const DISPLAY_CLASS = "0x03";
/** The name of a device's folder in sysfs. */
export const PCI_ADDRESS = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;

/**
 * Reads the GPUs in the order of their addresses.
 *
 * @param root the machine's root directory
 */
export function readPciGpus(root: string): Reading<readonly PciGpu[]> {
  const devices = join(root, "sys/bus/pci/devices");
  try {
    const names = readdirSync(devices).filter((name) => PCI_ADDRESS.test(name)).sort();
    return known(
      names.filter((name) => isGpuDevice(join(devices, name))).map((name) => describe(devices, name)),
    );
  } catch (error) {
    if (isGone(error)) return absent("not-supported", `there is no ${devices}`);
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}

/** Whether a device's folder is that of one of NVIDIA's GPUs. */
export function isGpuDevice(device: string): boolean {
  return readAttribute(join(device, "vendor")) === NVIDIA &&
    readAttribute(join(device, "class")).startsWith(DISPLAY_CLASS);
}

/** The text of an attribute; empty where the device has none of that name: only VGA devices have boot_vga. */
export function readAttribute(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    if (isGone(error)) return "";
    throw error;
  }
}

function describe(devices: string, name: string): PciGpu {
  const driver = findDriver(join(devices, name, "driver"));
  return { busId: parseBusId(name), ...driver !== undefined && { driver } };
}

function findDriver(link: string): string | undefined {
  try {
    return basename(readlinkSync(link));
  } catch (error) {
    if (isGone(error)) return undefined; // No driver has it.
    throw error;
  }
}
