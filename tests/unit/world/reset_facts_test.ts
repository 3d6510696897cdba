import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseBusId } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { initSimServer } from "../../../lib/source/sim/init.ts";
import { describeFacts } from "../../../lib/source/sim/reset_facts.ts";
import { readResetFacts } from "../../../lib/world/reset_facts.ts";
import { temporaryFolder } from "../../support/temporary.ts";

test("readResetFacts() reads a machine", async () => {
  using machine = temporaryFolder();
  machine.write("proc/modules", "nvidia 104165376 3 - Live 0x0\n");
  machine.write("sys/module/nvidia_drm/parameters/modeset", "Y\n");
  machine.write("proc/cpuinfo", "flags\t\t: fpu hypervisor lm\n");
  machine.write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  machine.write("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
  machine.write("sys/bus/pci/devices/0000:01:00.0/boot_vga", "1\n");
  machine.write("run/systemd/transient/train.service", "");
  mkdirSync(join(machine.path, "proc/self/ns"), { recursive: true });
  symlinkSync("pid:[4026531836]", join(machine.path, "proc/self/ns/pid"));
  const systemctl = machine.write("systemctl", "#!/bin/sh\necho Id=gdm.service; echo ActiveState=active\n");
  chmodSync(systemctl, 0o755);
  const places = {
    root: machine.path,
    kernelLog: join(machine.path, "dev/kmsg"),
    systemd: { booted: machine.path, systemctl: [systemctl], units: machine.path },
  };
  assert.deepEqual(await readResetFacts({ kind: "nvml" }, places), {
    kernelLog: absent("hidden", `there is no ${places.kernelLog} here: a container has none`),
    modules: known([{ name: "nvidia", references: 3, usedBy: [] }]),
    drmModeset: known(true),
    platform: known("virtual-machine"),
    isContainer: known(false),
    services: known([{
      unit: "gdm.service",
      kind: "display-manager",
      isActive: true,
      mainPid: absent("not-reported", "it has no main process"),
    }]),
    consoleGpus: known(new Set([parseBusId("0000:01:00.0")])),
    transientUnits: known(new Set(["train.service"])),
  });
});

test("readResetFacts() reads this very machine and says of each fact that it is known or why not", async () => {
  for (const [name, reading] of Object.entries(await readResetFacts({ kind: "nvml" }))) {
    assert.ok(reading.ok || reading.detail !== undefined, name);
  }
});

test("readResetFacts() reads a simulated server, and knows nothing of one that is not there", async () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, "server");
  const missing = absent(
    "failed",
    `Cannot find a simulated server in ${directory}: it has no server.json`,
  );
  assert.deepEqual(await readResetFacts({ kind: "sim", directory }), {
    kernelLog: missing,
    modules: missing,
    drmModeset: missing,
    platform: missing,
    isContainer: missing,
    services: missing,
    consoleGpus: missing,
    transientUnits: missing,
  });
  const server = initSimServer(directory, { gpus: 8 });
  assert.deepEqual(await readResetFacts({ kind: "sim", directory }), describeFacts(server));
});
