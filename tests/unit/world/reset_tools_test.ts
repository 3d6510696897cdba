import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { test } from "node:test";
import { gpuUuid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { noteOwnChild } from "../../../lib/proc/own_children.ts";
import { initSimServer } from "../../../lib/source/sim/init.ts";
import { realClock } from "../../../lib/world/clock.ts";
import { openResetTools } from "../../../lib/world/reset_tools.ts";
import { reportOf } from "../../support/driver_reports.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { startVictim } from "../../support/victim.ts";

const NVML = { kind: "nvml" } as const;
const UUID = gpuUuid("GPU-1");
const SPAN = milliseconds(10_000);

const FIXED = { searchPath: undefined, clock: realClock, openHelper: noHelper };

function openTools(smi: string | undefined, leaveEarly = () => {}) {
  return openResetTools(NVML, { ...FIXED, smi, leaveEarly });
}

function noHelper(): never {
  throw new Error("no helper was to be opened");
}

test("openResetTools() runs the nvidia-smi that was given, and says where it is", async () => {
  using folder = temporaryFolder();
  const path = folder.write("my smi", '#!/bin/sh\necho "$@"\nexit 3\n');
  chmodSync(path, 0o755);
  const tools = await openTools(path);
  assert.deepEqual(tools.smiPath, known(path));
  assert.deepEqual(await tools.runSmi(["-i", "00000000:01:00.0", "-r"], SPAN), {
    kind: "ended",
    status: 3,
    signal: undefined,
    text: "-i 00000000:01:00.0 -r\n",
  });
});

test("openResetTools() takes no other nvidia-smi for one that is not there", async () => {
  using folder = temporaryFolder();
  for (const path of [`${folder.path}/none`, folder.path, folder.write("no-program", "")]) {
    const tools = await openTools(path);
    assert.deepEqual(tools.smiPath, absent("failed", `${path} is no program`));
    assert.deepEqual(await tools.runSmi(["-r"], SPAN), {
      kind: "not-started",
      message: "it is not installed",
    });
  }
});

test("closeHelpers() waits until our own children are gone, and ends one that nobody asked", async () => {
  const helper = await startVictim();
  try {
    noteOwnChild(helper.pid, helper.ended);
    let asked = 0;
    const tools = await openTools(undefined, () => {
      asked++;
      helper.send("SIGTERM");
    });
    assert.deepEqual(await tools.closeHelpers(SPAN), []);
    assert.deepEqual([asked, (await helper.ended).signal], [1, "SIGTERM"]);
  } finally {
    await helper[Symbol.asyncDispose]();
  }
});

test("closeHelpers() names a child that stays longer than the span", async () => {
  const helper = await startVictim();
  try {
    noteOwnChild(helper.pid, helper.ended);
    const tools = await openTools(undefined);
    assert.deepEqual(await tools.closeHelpers(milliseconds(100)), [helper.pid]);
  } finally {
    await helper[Symbol.asyncDispose]();
  }
});

test("openResetTools() has programs of its own for a simulated server", async () => {
  using folder = temporaryFolder();
  const { gpus } = initSimServer(folder.path, { gpus: 1 });
  const source = { kind: "sim", directory: folder.path } as const;
  const tools = await openResetTools(source, { ...FIXED, smi: undefined, leaveEarly: () => {} });
  assert.deepEqual(await tools.resetClocks({ gpu: UUID, clocks: "graphics" }, SPAN), known(true));
  const done = { kind: "ended", status: 0, signal: undefined, text: "All done.\n" };
  assert.deepEqual(tools.smiPath, known("nvidia-smi"));
  assert.deepEqual(await tools.runSmi(["-i", gpus[0]?.busId ?? "", "-pm", "0"], SPAN), done);
  assert.deepEqual(await tools.orderUnit("stop", "none.service", SPAN), {
    kind: "ended",
    status: 5,
    signal: undefined,
    text: "Unit none.service not loaded.\n",
  });
});

test("resetClocks() gives the order to a helper of the same library, and its answer is the helper's", async () => {
  const order = { gpu: UUID, clocks: "memory" } as const;
  const requests: unknown[] = [];
  let closed = 0;
  const answers = [reportOf(), absent("no-permission", "nvmlDeviceResetMemoryLockedClocks")];
  const tools = await openResetTools({ kind: "nvml", library: "/opt/libnvidia-ml.so.1" }, {
    ...FIXED,
    smi: undefined,
    leaveEarly: () => {},
    openHelper(request) {
      requests.push(request);
      return {
        sample: () => Promise.resolve(answers.shift() ?? absent("failed")),
        [Symbol.asyncDispose]: () => Promise.resolve(void closed++),
      };
    },
  });
  assert.deepEqual(await tools.resetClocks(order, SPAN), known(true));
  assert.deepEqual(
    await tools.resetClocks(order, SPAN),
    absent("no-permission", "nvmlDeviceResetMemoryLockedClocks"),
  );
  const request = { source: "nvml", library: "/opt/libnvidia-ml.so.1", order };
  assert.deepEqual([requests, closed], [[request, request], 2]);
});

test("resetClocks() leaves the clocks to nvidia-smi where that is the source", async () => {
  const tools = await openResetTools({ kind: "nvidia-smi" }, {
    ...FIXED,
    smi: undefined,
    leaveEarly: () => {},
  });
  const answer = await tools.resetClocks({ gpu: UUID, clocks: "graphics" }, SPAN);
  assert.equal(answer.ok || answer.why, "not-supported");
});
