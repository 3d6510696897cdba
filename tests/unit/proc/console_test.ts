import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { parseBusId } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { readConsoleGpus } from "../../../lib/proc/console.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary.ts";

/** Adds a PCI device as sysfs shows it: a directory below its bus, and a link to that. */
function addDevice(machine: TemporaryFolder, address: string, attributes: Readonly<Record<string, string>>) {
  const real = `sys/devices/pci0000:00/0000:00:01.0/${address}`;
  for (const [name, value] of Object.entries(attributes)) machine.write(`${real}/${name}`, `${value}\n`);
  link(machine, `sys/bus/pci/devices/${address}`, real);
}

/** A link to a place in the machine, which may be made later. */
function link(machine: TemporaryFolder, from: string, to: string) {
  mkdirSync(join(machine.path, dirname(from)), { recursive: true });
  symlinkSync(join(machine.path, to), join(machine.path, from));
}

const VGA = { vendor: "0x10de", class: "0x030000" };
/** Datacenter cards are 3D controllers, which have no boot_vga. */
const CONTROLLER = { vendor: "0x10de", class: "0x030200" };
const [FIRST, SECOND, BOARD] = ["0000:01:00.0", "0000:41:00.0", "0000:c3:00.0"] as const;

test("readConsoleGpus() gives the NVIDIA GPU that the firmware chose", () => {
  using machine = temporaryFolder();
  addDevice(machine, FIRST, { ...VGA, boot_vga: "1" });
  addDevice(machine, "0000:01:00.1", { vendor: "0x10de", class: "0x040300" });
  addDevice(machine, SECOND, { ...VGA, boot_vga: "0" });
  assert.deepEqual(readConsoleGpus(machine.path), known(new Set([parseBusId(FIRST)])));
});

test("readConsoleGpus() gives none where the console is on the board's own chip", () => {
  using machine = temporaryFolder();
  addDevice(machine, FIRST, CONTROLLER);
  addDevice(machine, BOARD, { vendor: "0x1a03", class: "0x030000", boot_vga: "1" });
  link(machine, "sys/class/graphics/fb0/device", `sys/bus/pci/devices/${BOARD}`);
  assert.deepEqual(readConsoleGpus(machine.path), known(new Set()));
});

test("readConsoleGpus() gives a GPU with a framebuffer: the driver's own, and the firmware's below it", () => {
  using machine = temporaryFolder();
  addDevice(machine, FIRST, CONTROLLER);
  addDevice(machine, SECOND, { ...VGA, boot_vga: "0" });
  machine.write(`sys/devices/pci0000:00/0000:00:01.0/${SECOND}/simple-framebuffer.0/modalias`, "");
  link(machine, "sys/class/graphics/fb0/device", `sys/bus/pci/devices/${FIRST}`);
  link(machine, "sys/class/graphics/fb1/device", `sys/bus/pci/devices/${SECOND}/simple-framebuffer.0`);
  machine.write("sys/class/graphics/fb2/name", "a framebuffer without a device");
  machine.write("sys/class/graphics/fbcon/rotate", "0");
  assert.deepEqual(
    readConsoleGpus(machine.path),
    known(new Set([parseBusId(FIRST), parseBusId(SECOND)])),
  );
});

test("readConsoleGpus() does not say that there are none where no PCI device shows", () => {
  using machine = temporaryFolder();
  assert.deepEqual(
    readConsoleGpus(machine.path),
    absent("not-supported", `there is no ${machine.path}/sys/bus/pci/devices`),
  );
});
