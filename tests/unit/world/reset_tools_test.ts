import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { noteOwnChild } from "../../../lib/proc/own_children.ts";
import { initSimServer } from "../../../lib/source/sim/init.ts";
import { realClock } from "../../../lib/world/clock.ts";
import { openResetTools } from "../../../lib/world/reset_tools.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { startVictim } from "../../support/victim.ts";

const NVML = { kind: "nvml" } as const;
const SPAN = milliseconds(10_000);

function openTools(smi: string | undefined, leaveEarly = () => {}) {
  return openResetTools(NVML, { smi, searchPath: undefined, clock: realClock, leaveEarly });
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
  const tools = await openResetTools(source, {
    smi: undefined,
    searchPath: undefined,
    clock: realClock,
    leaveEarly: () => {},
  });
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
