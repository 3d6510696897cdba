import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBusId, pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { collectKernelLog, readKernelLog } from "../../../lib/proc/kernel_log.ts";

const XID = "NVRM: Xid (PCI:0000:07:00): 43, pid=326, name=python3, Ch 00000008";
const EVENT = {
  busId: parseBusId("0000:07:00"),
  xid: 43,
  pid: known(pid(326)),
  name: known("python3"),
  text: "Ch 00000008",
};

function collect(...records: readonly string[]) {
  const left = [...records];
  return collectKernelLog({ next: () => left.shift() });
}

test("collectKernelLog() picks the driver's and the switches' errors out, each with its time", () => {
  const sxid = "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up";
  assert.deepEqual(
    collect(
      "6,0,0,-;Linux version 6.18.0\n",
      `4,1,74299744,-;${XID}\n`,
      "6,2,74299750,-,caller=T2231;usb 1-1: new device\n SUBSYSTEM=usb\n DEVICE=c189:1\n",
      `2,3,74299760,-,caller=C0;${sxid}\n`,
    ),
    {
      xids: [{ ...EVENT, microsecondsSinceBoot: known(74_299_744) }],
      switchErrors: [sxid],
      isWhole: true,
    },
  );
});

test("collectKernelLog() says that a log is not whole when its oldest records are gone", () => {
  assert.deepEqual(collect(`4,88104,5,-;${XID}\n`).isWhole, false);
  assert.deepEqual(collect("lost", `4,0,5,-;${XID}\n`), {
    xids: [{ ...EVENT, microsecondsSinceBoot: known(5) }],
    switchErrors: [],
    isWhole: false,
  });
  assert.deepEqual(collect("6,0,0,-;Linux\n", "lost", `4,900,5,-;${XID}\n`), {
    xids: [{ ...EVENT, microsecondsSinceBoot: known(5) }],
    switchErrors: [],
    isWhole: false,
  });
});

test("collectKernelLog() does not call an empty log whole", () => {
  assert.deepEqual(collect(), { xids: [], switchErrors: [], isWhole: false });
});

test("collectKernelLog() believes no line that a program has written into the log", () => {
  // Facilities 1 (user) and 3 (daemon): what /dev/kmsg makes of a writer's line, whatever it asks for.
  assert.deepEqual(collect("6,0,0,-;Linux\n", `12,1,5,-;${XID}\n`, `30,2,6,-;systemd[1]: ${XID}\n`), {
    xids: [],
    switchErrors: [],
    isWhole: true,
  });
});

test("collectKernelLog() takes nothing from the lines below a message", () => {
  assert.deepEqual(collect(`6,0,0,-;usb\n DEVICE=${XID}\n`, `6,1,0,-;a\n${XID}\n`).xids, []);
});

test("collectKernelLog() ends on a log that never does", () => {
  assert.deepEqual(collectKernelLog({ next: () => "6,0,0,-;again\n" }), {
    xids: [],
    switchErrors: [],
    isWhole: false,
  });
});

test("readKernelLog() comes to the end of this kernel's log, or says why not", () => {
  const log = readKernelLog();
  if (log.ok) assert.deepEqual(Object.keys(log.value), ["xids", "switchErrors", "isWhole"]);
  else assert.ok(["no-permission", "hidden"].includes(log.why), log.detail);
});

test("readKernelLog() takes nothing else for the kernel's log", () => {
  assert.deepEqual(
    ["/dev/null", "/dev/none"].map((path) => readKernelLog(path)),
    [
      absent("hidden", "/dev/null is not the kernel's log here"),
      absent("hidden", "there is no /dev/none here: a container has none"),
    ],
  );
});
