import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBusId, pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { findSwitchError, findXid } from "../../../lib/proc/xid.ts";

const AT = known(5_000_000);
const NOBODY = absent("not-reported", "the driver names no process");
const UNCLEAR = absent("implausible", "where the name ends cannot be told");

/** The event without what all of these have in common. */
function read(message: string) {
  const event = findXid(message, AT);
  if (event === undefined) return undefined;
  const { microsecondsSinceBoot, ...rest } = event;
  assert.deepEqual(microsecondsSinceBoot, AT);
  return rest;
}

const BUS = parseBusId("0000:07:00.0");
const python = { busId: BUS, pid: known(pid(326)), name: known("python3") };

test("findXid() reads the line as today's drivers write it", () => {
  assert.deepEqual(
    read("NVRM: Xid (PCI:0000:07:00): 38, pid=326, name=python3, channel 0x00000003 0000c597"),
    {
      ...python,
      xid: 38,
      text: "channel 0x00000003 0000c597",
    },
  );
  assert.deepEqual(
    read(
      "NVRM: Xid (PCI:0000:07:00): 109, pid=326, name=python3, channel 0x00000007, errorString CTX SWITCH TIMEOUT, Info 0x74007",
    ),
    { ...python, xid: 109, text: "channel 0x00000007, errorString CTX SWITCH TIMEOUT, Info 0x74007" },
  );
});

test("findXid() knows no process where the driver names none", () => {
  const unknown = { busId: parseBusId("0000:3b:00"), pid: NOBODY, name: NOBODY };
  assert.deepEqual(
    read(
      "NVRM: Xid (PCI:0000:3b:00): 119, pid='<unknown>', name=<unknown>, Timeout waiting for RPC from GSP! Expected function FREE (0x0 0x0).",
    ),
    { ...unknown, xid: 119, text: "Timeout waiting for RPC from GSP! Expected function FREE (0x0 0x0)." },
  );
  assert.deepEqual(read("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."), {
    ...unknown,
    xid: 79,
    text: "GPU has fallen off the bus.",
  });
  assert.deepEqual(read("NVRM: Xid (PCI:0000:3b:00): 45, pid=0, name=, Ch 00000008"), {
    ...unknown,
    xid: 45,
    text: "Ch 00000008",
  });
});

test("findXid() reads older lines: without a name, without PCI:, and with nothing behind the number", () => {
  const { name: _, ...noName } = { ...python, name: NOBODY };
  assert.deepEqual(read("NVRM: Xid (PCI:0000:07:00): 31, pid=326, Ch 00000010, intr 10000000"), {
    ...noName,
    name: NOBODY,
    xid: 31,
    text: "Ch 00000010, intr 10000000",
  });
  assert.deepEqual(read("NVRM: Xid (0000:07:00): 13, Graphics Exception"), {
    busId: BUS,
    xid: 13,
    pid: NOBODY,
    name: NOBODY,
    text: "Graphics Exception",
  });
  assert.deepEqual(read("NVRM: Xid (PCI:0000:07:00): 43"), {
    busId: BUS,
    xid: 43,
    pid: NOBODY,
    name: NOBODY,
    text: "",
  });
});

test("findXid() reads errors of a MIG instance, and addresses of large machines", () => {
  assert.deepEqual(
    read("NVRM: Xid (PCI:0000:07:00 GPU-I:05): 43, pid=326, name=python3, Ch 00000008")?.busId,
    BUS,
  );
  assert.equal(
    read("NVRM: Xid (PCI:0009:01:00): 43, pid=326, name=python3, Ch 8")?.busId,
    "00000009:01:00.0",
  );
});

test("findXid() keeps the words of an Xid 154 with the old and the new action", () => {
  const text = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)";
  assert.deepEqual(
    read(`NVRM: Xid (PCI:0000:07:00): 154, ${text}`),
    { busId: BUS, xid: 154, pid: NOBODY, name: NOBODY, text },
  );
  assert.deepEqual(read(`NVRM: Xid (PCI:0000:07:00): 154, pid=326, name=python3, ${text}`), {
    ...python,
    xid: 154,
    text,
  });
});

test("findXid() undoes the kernel's escapes in a name", () => {
  assert.deepEqual(
    read(String.raw`NVRM: Xid (PCI:0000:07:00): 43, pid=326, name=caf\xc3\xa9\x5c\x1b[31m, Ch 8`)?.name,
    known("café\\\x1b[31m"),
  );
  assert.deepEqual(
    read(String.raw`NVRM: Xid (PCI:0000:07:00): 43, pid=326, name=\xff, Ch 00000008`)?.name,
    known("\ufffd"),
  );
});

test("findXid() takes no part of a name for a field, nor for the driver's words", () => {
  const rest = "the driver's own words";
  for (const name of ["a, pid=1", "a, name=b", "x, 79, GPU", ", ", "a, ", ",,, ,", "a, b, c, d, e,"]) {
    assert.deepEqual([name, read(`NVRM: Xid (PCI:0000:07:00): 43, pid=326, name=${name}, ${rest}`)], [name, {
      ...python,
      name: UNCLEAR,
      xid: 43,
      text: rest,
    }]);
  }
  assert.deepEqual(read(`NVRM: Xid (PCI:0000:07:00): 43, pid=326, name=a,b,, ${rest}`), {
    ...python,
    name: known("a,b,"),
    xid: 43,
    text: rest,
  });
});

test("findXid() finds one event in a line whose name looks like another", () => {
  const line = String.raw`NVRM: Xid (PCI:0000:07:00): 43, pid=326, name=\x0aNVRM: Xid (PCI, Ch 8`;
  assert.deepEqual(read(line), {
    ...python,
    xid: 43,
    name: known("\nNVRM: Xid (PCI"),
    text: "Ch 8",
  });
});

test("findXid() takes a name that is longer than any for no name", () => {
  assert.deepEqual(read("NVRM: Xid (PCI:0000:07:00): 43, pid=326, name=python3.12-longer, Ch 8"), {
    ...python,
    name: UNCLEAR,
    xid: 43,
    text: "python3.12-longer, Ch 8",
  });
});

test("findXid() and findSwitchError() leave all other messages alone", () => {
  const others = [
    "",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.159.04",
    "python: NVRM: Xid (PCI:0000:07:00): 43, pid=1, name=a, b",
    " NVRM: Xid (PCI:0000:07:00): 43",
    "NVRM: Xid (PCI:zz): 43",
    "NVRM: Xid (PCI:::::::): 43",
    "NVRM: Xid (PCI:0000:07:00): x",
  ];
  assert.deepEqual(others.map((message) => findXid(message, AT)), others.map(() => undefined));
  assert.deepEqual(others.map(findSwitchError), others.map(() => undefined));
});

test("findSwitchError() gives an NVSwitch's line as it is", () => {
  const line =
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error";
  assert.equal(findSwitchError(line), line);
  assert.equal(findXid(line, AT), undefined);
});
