import assert from "node:assert/strict";
import { test } from "node:test";
import { absent, known, type Reading } from "../../../lib/core/reading.ts";
import type { Platform } from "../../../lib/model/reset_facts.ts";
import { readPlatform } from "../../../lib/proc/platform.ts";
import { temporaryFolder } from "../../support/temporary.ts";

type Files = Readonly<Record<string, string>>;

function platformOf(files: Files): Reading<Platform> {
  using machine = temporaryFolder();
  for (const [path, text] of Object.entries(files)) machine.write(path, text);
  return readPlatform(machine.path);
}

/** The beginning of /proc/cpuinfo of an x86 processor. */
const cpu = (flags: string): Files => ({
  "proc/cpuinfo": `processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: ${flags}\nbugs\t\t: spectre_v1\n`,
});
const dmi = (vendor: string, product: string): Files => ({
  "sys/class/dmi/id/sys_vendor": `${vendor}\n`,
  "sys/class/dmi/id/product_name": `${product}\n`,
});
const METAL = cpu("fpu vme de hypervisor_not lahf_lm");
const GUEST = cpu("fpu vme hypervisor lahf_lm");
const ARM: Files = { "proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\n" };

const MACHINES: readonly (readonly [string, Files, Platform])[] = [
  ["a server", { ...METAL, ...dmi("Supermicro", "SYS-821GE-TNHR") }, "bare-metal"],
  ["a server that hosts machines", { ...METAL, ...dmi("Dell Inc.", "PowerEdge XE9680") }, "bare-metal"],
  ["an x86 guest", { ...GUEST, ...dmi("QEMU", "Standard PC (Q35 + ICH9, 2009)") }, "virtual-machine"],
  ["a guest by its last flag", cpu("fpu hypervisor"), "virtual-machine"],
  ["an ARM server", { ...ARM, ...dmi("NVIDIA", "GH200 480GB") }, "bare-metal"],
  ["an ARM guest", { ...ARM, ...dmi("QEMU", "KVM Virtual Machine") }, "virtual-machine"],
  ["an ARM guest of AWS", { ...ARM, ...dmi("Amazon EC2", "g5g.xlarge") }, "virtual-machine"],
  ["an ARM machine of AWS", { ...ARM, ...dmi("Amazon EC2", "g5g.metal") }, "bare-metal"],
  ["an Azure guest", { ...GUEST, ...dmi("Microsoft Corporation", "Virtual Machine") }, "virtual-machine"],
  ["a Xen guest", { ...METAL, "sys/hypervisor/type": "xen\n" }, "virtual-machine"],
  [
    "the domain of Xen that has the hardware",
    { ...GUEST, "sys/hypervisor/type": "xen\n", "proc/xen/capabilities": "control_d\n" },
    "bare-metal",
  ],
  [
    "WSL by its kernel",
    { ...GUEST, "proc/version": "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@439a258ad544)\n" },
    "wsl",
  ],
  ["WSL by its device", { ...GUEST, "dev/dxg": "" }, "wsl"],
  ["a Jetson by its release", { ...ARM, "etc/nv_tegra_release": "# R36 (release)\n" }, "tegra"],
  ["a Jetson by its chip", { ...ARM, "sys/devices/soc0/family": "Tegra\n" }, "tegra"],
];

for (const [name, files, platform] of MACHINES) {
  test(`readPlatform() knows ${name}`, () => {
    assert.deepEqual(platformOf(files), known(platform));
  });
}

test("readPlatform() does not guess where neither processor nor firmware says anything", () => {
  const why = absent("not-reported", "neither the processor nor the firmware says what machine this is");
  assert.deepEqual([platformOf(ARM), platformOf({})], [why, why]);
});
