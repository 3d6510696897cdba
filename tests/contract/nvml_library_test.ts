/** How the driver's library is opened, and what is said where it cannot be. */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../lib/core/reading.ts";
import { milliseconds } from "../../lib/core/units.ts";
import { openNvmlSource } from "../../lib/source/nvml/source.ts";
import { DRIVER, idleGpu, readReport, reportOf } from "../support/driver_reports.ts";
import { buildStub, type Stub } from "../support/nvml_stub.ts";
import { temporaryFolder } from "../support/temporary.ts";

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

test("openNvmlSource() says why the library would not begin", async () => {
  const scenario = { gpus: [], fail: { nvmlInitWithFlags: 9 } };
  assert.deepEqual(
    await readReport(stub, scenario),
    absent("not-supported", "nvmlInitWithFlags: Driver Not Loaded (NVML_ERROR_DRIVER_NOT_LOADED)"),
  );
});

test("openNvmlSource() names both versions when library and kernel module differ", async () => {
  const scenario = { gpus: [], library: "13.580.178.00", fail: { nvmlInitWithFlags: 18 } };
  const reading = await readReport(stub, scenario);
  assert.ok(!reading.ok);
  // The module's version is this machine's own: whatever it has, or none.
  assert.deepEqual(
    { ...reading, detail: reading.detail?.replace(/module (unknown|[\d.]+)/, "module X") },
    absent(
      "failed",
      "nvmlInitWithFlags: Driver/library version mismatch (NVML_ERROR_LIB_RM_VERSION_MISMATCH):" +
        " kernel module X, library 580.178.00",
    ),
  );
});

test("openNvmlSource() begins with the older call where there is no other", async () => {
  using older = buildStub({ without: ["nvmlInitWithFlags"] });
  assert.deepEqual(await readReport(older, { gpus: [{}] }), reportOf(idleGpu(0)));
});

test("openNvmlSource() says that the GPUs could not be counted", async () => {
  assert.deepEqual(
    await readReport(stub, { gpus: [{}], fail: { nvmlDeviceGetCount_v2: 999 } }),
    absent("failed", "nvmlDeviceGetCount_v2: Unknown Error (NVML_ERROR_UNKNOWN)"),
  );
});

test("openNvmlSource() gives the driver's versions as far as they are to be had", async () => {
  using older = buildStub({ without: ["nvmlSystemGetCudaDriverVersion_v2"] });
  const read = await readReport(older, { gpus: [], driver: "\u001b[2J", library: "11.470.256.02" });
  assert.deepEqual(
    read,
    known({
      driver: {
        ...DRIVER,
        version: absent("implausible", 'the driver gives "\\u001b[2J" as its driver version'),
        libraryVersion: known("470.256.02"),
        cudaVersion: absent(
          "not-supported",
          "nvmlSystemGetCudaDriverVersion_v2: Function Not Found (NVML_ERROR_FUNCTION_NOT_FOUND)",
        ),
      },
      gpus: [],
      unreadableGpus: [],
    }),
  );
});

test("openNvmlSource() says that a file is no library", async () => {
  using folder = temporaryFolder();
  const path = folder.write("libnvidia-ml.so.1", "no ELF file");
  const source = await openNvmlSource(() => milliseconds(0), { library: path });
  assert.ok(!source.ok);
  // The words after it are the loader's, and differ by runtime.
  assert.deepEqual([source.why, source.detail?.startsWith(`cannot open ${path}: `)], ["failed", true]);
});
