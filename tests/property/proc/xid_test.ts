import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { known, valueOf } from "../../../lib/core/reading.ts";
import { collectKernelLog } from "../../../lib/proc/kernel_log.ts";
import { findXid } from "../../../lib/proc/xid.ts";

const AT = known(1);

/** As msg_add_ext_text of the kernel's printk.c writes a message. */
function escape(bytes: Uint8Array): string {
  return Array.from(
    bytes,
    (byte) =>
      byte < 32 || byte >= 127 || byte === 92
        ? `\\x${byte.toString(16).padStart(2, "0")}`
        : String.fromCharCode(byte),
  ).join("");
}

/** Any name that a process can give itself: 15 bytes without a NUL, those that look like the driver's own among them. */
const anyName = fc.oneof(
  fc.array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 15 }),
  fc.array(fc.constantFrom(..."a, =:()0X\n\\".split("")), { minLength: 1, maxLength: 15 })
    .map((letters) => letters.map((letter) => letter.charCodeAt(0))),
).map((bytes) => Uint8Array.from(bytes));

test("findXid() gives the driver's own fields and words, whatever the process is called", () => {
  const anyPid = fc.integer({ min: 1, max: 4_194_304 });
  // Its first comma is beyond where a name can reach.
  const text = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
  fc.assert(fc.property(fc.integer({ min: 1, max: 999 }), anyPid, anyName, (xid, pid, name) => {
    const line = `NVRM: Xid (PCI:0000:07:00): ${xid}, pid=${pid}, name=${escape(name)}, ${text}`;
    const event = findXid(line, AT);
    assert.deepEqual(
      [event?.busId, event?.xid, event && valueOf(event.pid), event?.text],
      ["00000000:07:00.0", xid, pid, text],
    );
    const own = new TextDecoder().decode(name);
    if (event?.name.ok) assert.equal(event.name.value, own);
    else assert.ok(own.includes(", ") || own === "<unknown>");
  }));
});

test("collectKernelLog() ends on any records, and never finds more events than there are records", () => {
  const anyLine = fc.oneof(
    fc.string(),
    fc.string().map((rest) => `4,7,5,-;NVRM: Xid (PCI:0000:07:00): 43, ${rest}`),
    fc.string().map((rest) => `4,7,5,-;NVRM: Xid (${rest}): 43`),
    fc.string().map((rest) => `4,0,${rest}`),
  );
  fc.assert(fc.property(fc.array(anyLine), (lines) => {
    const left = [...lines];
    const { xids, switchErrors } = collectKernelLog({ next: () => left.shift() });
    assert.ok(xids.length + switchErrors.length <= lines.length);
  }));
});
