/** What kind of machine this is. */
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { absent, known, type Reading } from "../core/reading.ts";
import type { Platform } from "../model/reset_facts.ts";

/** What hypervisors give as the maker or the name of the machine (DMI). Bare metal of the same makers has other names. */
const VIRTUAL_NAMES = [
  /^(?:QEMU|KVM|Bochs|BHYVE|Xen|OpenStack|Red Hat|oVirt|Nutanix AHV|VMware|innotek GmbH|VirtualBox)\b/i,
  /^(?:Amazon EC2|Google Compute Engine|Virtual Machine|HVM domU|Standard PC|Alibaba Cloud ECS|CVM)\b/i,
];
/** Machines of AWS that have no hypervisor: `p4d.metal`. */
const BARE_NAMES = /\.metal(?:-\w+)?$/;
/** Enough for the first processor of /proc/cpuinfo: all of a large machine take tens of milliseconds. */
const FIRST_PROCESSOR = 8192;

/**
 * Says what kind of machine the driver runs on.
 *
 * @param root the machine's root directory
 */
export function readPlatform(root: string): Reading<Platform> {
  if (isWsl(root)) return known("wsl");
  if (isTegra(root)) return known("tegra");
  if (isXenHost(root)) return known("bare-metal");
  const names = ["sys_vendor", "product_name"].map((name) => lineOf(root, `sys/class/dmi/id/${name}`));
  if (names.some((name) => BARE_NAMES.test(name))) return known("bare-metal");
  const processor = readStart(join(root, "proc/cpuinfo"), FIRST_PROCESSOR);
  const flags = /^flags\s*:(.*)$/m.exec(processor)?.[1];
  const isVirtual = flags !== undefined && / hypervisor(?: |$)/.test(flags) ||
    names.some((name) => VIRTUAL_NAMES.some((virtual) => virtual.test(name))) ||
    existsSync(join(root, "sys/hypervisor/type")) ||
    existsSync(join(root, "proc/device-tree/hypervisor"));
  if (isVirtual) return known("virtual-machine");
  // Processors other than x86 do not say that they are simulated.
  return flags !== undefined || names.some((name) => name !== "")
    ? known("bare-metal")
    : absent("not-reported", "neither the processor nor the firmware says what machine this is");
}

function isWsl(root: string): boolean {
  return existsSync(join(root, "dev/dxg")) || /microsoft.*wsl/i.test(lineOf(root, "proc/version"));
}

/** L4T's own mark, and what the kernel says of a system on a chip of that family. */
function isTegra(root: string): boolean {
  return existsSync(join(root, "etc/nv_tegra_release")) ||
    /^tegra/i.test(lineOf(root, "sys/devices/soc0/family"));
}

/** The domain that has the hardware runs under the hypervisor as well, and is no guest. */
function isXenHost(root: string): boolean {
  return lineOf(root, "proc/xen/capabilities").includes("control_d");
}

/** The first line of a file; empty where there is none. */
function lineOf(root: string, path: string): string {
  const text = readStart(join(root, path), FIRST_PROCESSOR);
  return (text.split("\n")[0] ?? "").replaceAll("\0", "").trim();
}

function readStart(path: string, length: number): string {
  try {
    const descriptor = openSync(path, "r");
    try {
      const bytes = new Uint8Array(length);
      return new TextDecoder().decode(bytes.subarray(0, readSync(descriptor, bytes)));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return ""; // Each sign is one of several: what cannot be read says nothing.
  }
}
