import { test } from "node:test";
import assert from "node:assert/strict";
import { deviceMinor, gpuIndex, gpuUuid, isPid, parseBusId, pid, uid } from "../../../lib/core/ids.ts";

test("pid() takes what a Linux process can have, and nothing else", () => {
  assert.deepEqual([1, 4_194_304].map(pid), [1, 4_194_304]);
  for (const value of [0, -1, 1.5, NaN, 4_194_305, 4_294_967_295]) {
    assert.throws(() => pid(value), {
      name: "RangeError",
      message: `Cannot make a pid as it must be from 1 to 4194304: current value is ${value}`,
    });
  }
});

test("isPid() agrees with pid()", () => {
  assert.deepEqual([0, 1, 4_194_304, 4_194_305, 0xffff_ffff, 1.5].map(isPid), [
    false,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test("uid() takes 32-bit numbers, root and nobody too", () => {
  assert.deepEqual([0, 65_534, 0xffff_ffff].map(uid), [0, 65_534, 0xffff_ffff]);
  for (const value of [-1, 0.5, 2 ** 32]) {
    assert.throws(() => uid(value), {
      name: "RangeError",
      message: `Cannot make a uid as it must be from 0 to 2^32 - 1: current value is ${value}`,
    });
  }
});

test("gpuUuid() takes 1 to 96 characters", () => {
  assert.equal(
    gpuUuid("GPU-00000000-1111-2222-3333-444444444444"),
    "GPU-00000000-1111-2222-3333-444444444444",
  );
  for (const text of ["", "x".repeat(97)]) {
    assert.throws(() => gpuUuid(text), {
      name: "SyntaxError",
      message: `Cannot make a GPU UUID as it must have 1 to 96 characters: current value is "${text}"`,
    });
  }
});

test("gpuIndex() and deviceMinor() refuse what no device has", () => {
  assert.deepEqual([gpuIndex(0), gpuIndex(65_535)], [0, 65_535]);
  assert.deepEqual([deviceMinor(0), deviceMinor(0xfffff)], [0, 0xfffff]);
  for (const value of [-1, 0.5, 65_536]) {
    assert.throws(() => gpuIndex(value), {
      name: "RangeError",
      message: `Cannot make a GPU index as it must be from 0 to 65535: current value is ${value}`,
    });
  }
  for (const value of [-1, 0.5, 0x100000]) {
    assert.throws(() => deviceMinor(value), {
      name: "RangeError",
      message: `Cannot make a device minor as it must be from 0 to 2^20 - 1: current value is ${value}`,
    });
  }
});

test("parseBusId() gives every spelling of an address one form", () => {
  // nvidia-smi and NVML, the kernel's sysfs, lspci without a domain, NVML's legacy field.
  for (const text of ["00000000:C1:00.0", "0000:c1:00.0", "c1:00.0", "0000:C1:00", " C1:00.0\n"]) {
    assert.equal(parseBusId(text), "00000000:c1:00.0", text);
  }
  assert.equal(parseBusId("0009:01:1f.7"), "00000009:01:1f.7");
});

test("parseBusId() refuses what is no PCI address", () => {
  for (const text of ["", "0", "0000:c1:00.8", "000000000:c1:00.0", "0000:c1:00.0.1", "GPU-0", "g1:00.0"]) {
    assert.throws(() => parseBusId(text), {
      name: "SyntaxError",
      message: `Cannot parse "${text}" as a PCI address: expected domain:bus:device.function`,
    });
  }
});
