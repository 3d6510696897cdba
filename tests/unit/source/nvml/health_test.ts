import assert from "node:assert/strict";
import { test } from "node:test";
import { gpuIndex, gpuUuid } from "../../../../lib/core/ids.ts";
import { absent } from "../../../../lib/core/reading.ts";
import type { Nvml, NvmlSymbol } from "../../../../lib/source/nvml/calls.ts";
import { readDevice } from "../../../../lib/source/nvml/device.ts";
import { NvmlError } from "../../../../lib/source/nvml/status.ts";

const NOT_SUPPORTED = 3;

/** A library that supports nothing, and what was called of it. */
function emptyLibrary(): { readonly nvml: Nvml; readonly called: NvmlSymbol[] } {
  const called: NvmlSymbol[] = [];
  return {
    called,
    nvml: {
      path: "/none",
      has: () => true,
      status(symbol) {
        called.push(symbol);
        return NOT_SUPPORTED;
      },
      call(symbol) {
        called.push(symbol);
        throw new NvmlError(symbol, NOT_SUPPORTED);
      },
    },
  };
}

function callsOfDevice(withHealth: boolean): ReadonlySet<NvmlSymbol> {
  const { nvml, called } = emptyLibrary();
  const nothing = absent("not-supported");
  readDevice(nvml, 1n, {
    index: gpuIndex(0),
    withUtilization: false,
    withHealth,
    withAccounting: false,
    pidLimit: 32768,
    identity: { uuid: gpuUuid("GPU-1"), name: nothing, busId: nothing, minor: nothing },
    slowModes: { displayActive: nothing, migMode: nothing },
  });
  return new Set(called);
}

test("readDevice() makes no call for the health of a GPU that was not asked for", () => {
  const asked = callsOfDevice(true);
  assert.deepEqual([...asked.difference(callsOfDevice(false))], [
    "nvmlDeviceGetEccMode",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetRetiredPagesPendingStatus",
    "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetVirtualizationMode",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetArchitecture",
  ]);
});
