import assert from "node:assert/strict";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import { parseModules, readDrmModeset, readModules } from "../../../lib/proc/modules.ts";
import { temporaryFolder } from "../../support/temporary.ts";

/** /proc/modules of a server with a display, GPUDirect RDMA and much else. */
const TEXT = `nvidia_uvm 6844416 4 - Live 0xffffffffc0a00000 (OE)
gdrdrv 36864 2 - Live 0xffffffffc09f0000 (OE)
nvidia_peermem 16384 0 - Live 0xffffffffc09e0000 (OE)
ib_uverbs 208896 3 nvidia_peermem,mlx5_ib, Live 0xffffffffc0900000
nvidia_drm 126976 9 - Live 0xffffffffc0800000 (OE)
nvidia_modeset 1556480 12 nvidia_drm, Live 0xffffffffc0600000 (OE)
nvidia 104165376 811 nvidia_uvm,gdrdrv,nvidia_peermem,nvidia_modeset, Live 0xffffffffc0000000 (POE)
drm_kms_helper 253952 2 nvidia_drm,ast, Live 0xffffffffbf000000
nvidiafb 61440 0 - Live 0xffffffffbe000000
nouveau 2326528 0 - Live 0xffffffffbd000000
zfs 4000000 6 [permanent], Live 0xffffffffbc000000 (PO)
`;

test("parseModules() gives the driver's modules and those that use them", () => {
  assert.deepEqual(parseModules(TEXT), [
    { name: "nvidia_uvm", references: 4, usedBy: [] },
    { name: "gdrdrv", references: 2, usedBy: [] },
    { name: "nvidia_peermem", references: 0, usedBy: [] },
    { name: "nvidia_drm", references: 9, usedBy: [] },
    { name: "nvidia_modeset", references: 12, usedBy: ["nvidia_drm"] },
    { name: "nvidia", references: 811, usedBy: ["nvidia_uvm", "gdrdrv", "nvidia_peermem", "nvidia_modeset"] },
    { name: "nouveau", references: 0, usedBy: [] },
  ]);
  assert.deepEqual(parseModules("nvidia 1 3 nvidia_uvm,[permanent], Live 0x0\n"), [
    { name: "nvidia", references: 3, usedBy: ["nvidia_uvm"] },
  ]);
  assert.deepEqual(parseModules(""), []);
});

test("parseModules() gives no count for a kernel that counts no references", () => {
  // As a virtual machine's kernel without CONFIG_MODULE_UNLOAD prints it.
  const text =
    "nvidia_uvm 1830912 - - Live 0xffffffffc080c000 (O)\nnvidia 14000128 - - Live 0xffffffffc0000000 (O)\n";
  assert.deepEqual(parseModules(text), [{ name: "nvidia_uvm", usedBy: [] }, { name: "nvidia", usedBy: [] }]);
});

test("readModules() reads the machine's list, or says why there is none", () => {
  using machine = temporaryFolder();
  const path = machine.write("proc/modules", "nvidia 104165376 3 - Live 0x0\n");
  assert.deepEqual(readModules(machine.path), known([{ name: "nvidia", references: 3, usedBy: [] }]));
  machine.write("proc/modules", "nvidia 104165376 many\n");
  assert.deepEqual(
    readModules(machine.path),
    absent("not-supported", 'Cannot parse "nvidia 104165376 many" as a line of /proc/modules'),
  );
  assert.deepEqual(
    readModules(path.replace("/proc/modules", "/none")),
    absent("not-supported", "there is no /proc/modules: this kernel shows no modules"),
  );
});

test("readDrmModeset() tells modeset on, off, not loaded, hidden and senseless apart", () => {
  using machine = temporaryFolder();
  assert.deepEqual(readDrmModeset(machine.path), absent("hidden", "there is no /sys/module here"));
  machine.write("sys/module/nvidia/refcnt", "3\n");
  assert.deepEqual(readDrmModeset(machine.path), absent("not-supported", "nvidia_drm is not loaded"));
  const read = (text: string) => {
    machine.write("sys/module/nvidia_drm/parameters/modeset", text);
    return readDrmModeset(machine.path);
  };
  assert.deepEqual([read("Y\n"), read("N\n")], [known(true), known(false)]);
  assert.deepEqual(
    read("2\n"),
    absent("implausible", `${machine.path}/sys/module/nvidia_drm/parameters/modeset says "2"`),
  );
});
