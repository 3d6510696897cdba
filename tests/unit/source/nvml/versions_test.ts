import { test } from "node:test";
import assert from "node:assert/strict";
import { parseModuleVersion, trimApiVersion } from "../../../../lib/source/nvml/versions.ts";

test("trimApiVersion() takes NVML's own number off and leaves a driver version alone", () => {
  assert.deepEqual(
    ["13.580.159.04", "11.470.256.02", "12.535.98", "580.159.04", "580.178", "340.108"].map(trimApiVersion),
    ["580.159.04", "470.256.02", "535.98", "580.159.04", "580.178", "340.108"],
  );
});

test("parseModuleVersion() reads both wordings of the kernel module", () => {
  const proprietary =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.173.02  Tue Jun 23 08:38:17 UTC 2026\n" +
    "GCC version:  gcc version 14.2.0 (Ubuntu 14.2.0-4ubuntu2~24.04.1)\n";
  const open =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (nixbld@)  \n";
  assert.equal(parseModuleVersion(proprietary), "580.173.02");
  assert.equal(parseModuleVersion(open), "580.159.04");
});

test("parseModuleVersion() gives nothing for a text that has none", () => {
  assert.equal(parseModuleVersion("GCC version:  gcc version 14.2.0 \n"), undefined);
});
