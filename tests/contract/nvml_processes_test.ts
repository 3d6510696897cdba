/** Process lists, read through the FFI from the stand-in for the driver's library as each version writes them. */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { absent } from "../../lib/core/reading.ts";
import type { ProcessList } from "../../lib/model/gpu.ts";
import { context, readList } from "../support/driver_reports.ts";
import { buildStub, type ScenarioGpu, type ScenarioProcess, type Stub } from "../support/nvml_stub.ts";

const NOT_AVAILABLE = 0xffff_ffff_ffff_ffffn;
const KINDS = ["Compute", "Graphics", "MPSCompute"];
const CONF_COMPUTE = "nvmlDeviceGetConfComputeMemSizeInfo";
const DETAIL_LIST = "nvmlDeviceGetRunningProcessDetailList";

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

/** The list calls of one suffix. */
function listCalls(suffix: string): readonly string[] {
  return KINDS.map((kind) => `nvmlDeviceGet${kind}RunningProcesses${suffix}`);
}

function processes(count: number): readonly ScenarioProcess[] {
  return Array.from({ length: count }, (_, index) => ({ pid: 1000 + index, usedBytes: 1024 * (index + 1) }));
}

function contexts(count: number) {
  return Array.from({ length: count }, (_, index) => context(1000 + index, 1024 * (index + 1)));
}

function known(...contexts: Extract<ProcessList, { state: "known" }>["contexts"]): ProcessList {
  return { state: "known", contexts };
}

test("readProcessList() merges the lists by process, with all kinds and the most bytes", async () => {
  const gpu: ScenarioGpu = {
    processes: [
      { list: "compute", pid: 10, usedBytes: 100 },
      { list: "compute", pid: 11, usedBytes: 300 },
      { list: "graphics", pid: 11, usedBytes: 200 },
      { list: "graphics", pid: 12, usedBytes: 50 },
      { list: "compute", pid: 16, usedBytes: 5 },
      { list: "graphics", pid: 16, usedBytes: 6 },
      { list: "mps", pid: 13, usedBytes: 70 },
      { list: "compute", pid: 14, usedBytes: NOT_AVAILABLE },
      { list: "graphics", pid: 14, usedBytes: 8 },
      { list: "graphics", pid: 15, usedBytes: NOT_AVAILABLE },
    ],
  };
  assert.deepEqual(
    await readList(stub, gpu),
    known(
      context(10, 100),
      context(11, 300, { kind: "compute+graphics" }),
      context(16, 6, { kind: "compute+graphics" }),
      context(14, 8, { kind: "compute+graphics" }),
      context(12, 50, { kind: "graphics" }),
      context(15, 0, {
        kind: "graphics",
        used: absent("not-reported", "the driver gives no size for this process"),
      }),
      context(13, 70, { kind: "mps-client" }),
    ),
  );
});

test("readProcessList() keeps a process's contexts on two MIG instances apart", async () => {
  const on = (gpuInstance: number) => ({ gpuInstance, computeInstance: 0 });
  const gpu = {
    processes: [{ pid: 10, usedBytes: 100, ...on(1) }, { pid: 10, usedBytes: 200, ...on(2) }],
  };
  assert.deepEqual(await readList(stub, gpu), known(context(10, 100, on(1)), context(10, 200, on(2))));
});

test("readProcessList() reads a list that has one more process at each call", async () => {
  const list = await readList(stub, { processes: processes(90), grows: 1 });
  assert.deepEqual(list, known(...contexts(90), context(20000, 1 << 20)));
});

test("readProcessList() gives up on a list that no room is enough for", async () => {
  const fail = { nvmlDeviceGetComputeRunningProcesses_v2: 7 };
  assert.deepEqual(await readList(stub, { fail }), {
    state: "unknown",
    reason: absent(
      "failed",
      "nvmlDeviceGetComputeRunningProcesses_v2: Insufficient Size (NVML_ERROR_INSUFFICIENT_SIZE)",
    ),
  });
});

test("readProcessList() believes no count beyond any machine's", async () => {
  assert.deepEqual(await readList(stub, { processes: processes(65), grows: 70_000 }), {
    state: "unknown",
    reason: absent(
      "implausible",
      "nvmlDeviceGetComputeRunningProcesses_v2 counts 70065 processes with room for 135",
    ),
  });
});

test("readProcessList() reads 2,000 processes", async () => {
  assert.deepEqual(await readList(stub, { processes: processes(2000) }), known(...contexts(2000)));
});

test("readProcessList() calls a list incomplete when it is as long as the kernel's limit", async () => {
  assert.deepEqual(await readList(stub, { processes: processes(950) }), {
    state: "incomplete",
    contexts: contexts(950),
    reason: absent("not-reported", "the driver lists at most 950 processes of a GPU"),
  });
  assert.deepEqual(await readList(stub, { processes: processes(949) }), known(...contexts(949)));
});

const LIBRARIES:
  readonly (readonly [string, { readonly without: readonly string[]; readonly v3Record?: 24 | 32 }])[] = [
    ["450 to 470, which has no _v3", { without: [...listCalls("_v3"), CONF_COMPUTE, DETAIL_LIST] }],
    ["535.54, whose _v3 has 32 bytes", { without: [DETAIL_LIST], v3Record: 32 }],
    ["535.98, which lost its _v3", { without: [...listCalls("_v3"), DETAIL_LIST] }],
    ["no version known: _v3 alone, with 24 bytes", { without: listCalls("_v2") }],
    ["no version known: _v3 alone, with 32 bytes", {
      without: [...listCalls("_v2"), DETAIL_LIST],
      v3Record: 32,
    }],
    ["no version known: 32 bytes where the symbols promise 24", { without: listCalls("_v2"), v3Record: 32 }],
    [
      "no version known: 24 bytes where the symbols promise 32",
      { without: [...listCalls("_v2"), DETAIL_LIST], v3Record: 24 },
    ],
  ];
for (const [name, { without, v3Record = 24 }] of LIBRARIES) {
  test(`readProcessList() reads the records of a library of ${name}`, async () => {
    using older = buildStub({ without });
    const on = { gpuInstance: 3, computeInstance: 1 };
    const gpu = { processes: [...processes(3), { pid: 99, usedBytes: 7, ...on }] };
    assert.deepEqual(await readList(older, gpu, { v3Record }), known(...contexts(3), context(99, 7, on)));
  });
}

test("readProcessList() reads the records of a library older than MIG", async () => {
  using oldest = buildStub({ without: [...listCalls("_v2"), ...listCalls("_v3")] });
  assert.deepEqual(await readList(oldest, { processes: processes(3) }), known(...contexts(3)));
});

test("readProcessList() reads the records of a library that clears the room it is given", async () => {
  assert.deepEqual(await readList(stub, { processes: processes(3), clears: true }), known(...contexts(3)));
});

test("readProcessList() reads a library without graphics and MPS lists", async () => {
  const hidden = ["", "_v2", "_v3"].flatMap(listCalls).filter((call) => !call.includes("GetCompute"));
  using plain = buildStub({ without: hidden });
  assert.deepEqual(await readList(plain, { processes: processes(2) }), known(...contexts(2)));
});

for (const pid of [0, 0xffff_ffff, 4_194_305]) {
  test(`readProcessList() believes none of a list that has a process ${pid}`, async () => {
    const gpu = { processes: [...processes(3), { pid, usedBytes: 1 }] };
    assert.deepEqual(await readList(stub, gpu), {
      state: "unknown",
      reason: absent("implausible", `the driver lists a process ${pid}, and none can have that pid`),
    });
  });
}

test("readProcessList() believes none of a list that has more bytes than the card", async () => {
  const gpu: ScenarioGpu = {
    totalBytes: 1_000_000,
    reservedBytes: 0,
    processes: [{ pid: 5, usedBytes: 10 }, { list: "graphics", pid: 6, usedBytes: 1_000_001 }],
  };
  assert.deepEqual(await readList(stub, gpu), {
    state: "unknown",
    reason: absent(
      "implausible",
      "the driver lists a process with 1000001 bytes, and the GPU has 1000000",
    ),
  });
});

test("readProcessList() says that the list is unknown, not empty, when it is denied", async () => {
  const fail = { nvmlDeviceGetComputeRunningProcesses_v2: 4 };
  assert.deepEqual(await readList(stub, { fail }), {
    state: "unknown",
    reason: absent(
      "no-permission",
      "nvmlDeviceGetComputeRunningProcesses_v2: Insufficient Permissions (NVML_ERROR_NO_PERMISSION)",
    ),
  });
});

test("readProcessList() says what is missing when only one of the lists is denied", async () => {
  const fail = { nvmlDeviceGetMPSComputeRunningProcesses_v2: 4 };
  assert.deepEqual(await readList(stub, { fail, processes: processes(1) }), {
    state: "incomplete",
    contexts: contexts(1),
    reason: absent(
      "no-permission",
      "nvmlDeviceGetMPSComputeRunningProcesses_v2: Insufficient Permissions (NVML_ERROR_NO_PERMISSION)",
    ),
  });
});
