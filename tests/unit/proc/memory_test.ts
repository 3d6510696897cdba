import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { readMappingsOfWaiting, readMemory, readMemoryOfWaiting } from "../../../lib/proc/memory.ts";
import { readProcess } from "../../../lib/proc/process.ts";
import { realClock } from "../../../lib/world/clock.ts";
import { openStage } from "../../support/actor.ts";
import { NEEDS_ROOT } from "../../support/as_nobody.ts";
import { startHungProcess } from "../../support/hung.ts";
import { openProcessCalls, STAND_INS, standInRecogniser, UVM_NODE } from "../../support/proc_calls.ts";

const never = new Promise(() => {});

test("readMemory() and readMemoryOfWaiting() read the same of a process that nothing keeps", async () => {
  using stage = openStage();
  await using actor = await stage.start(["map", STAND_INS.uvm], { env: { LOCAL_RANK: "3", SECRET: "x" } });
  const directory = `/proc/${actor.pid}`;
  const expected = {
    argv: known([stage.program, "map", STAND_INS.uvm]),
    environment: known(new Map([["LOCAL_RANK", "3"]])),
    mappings: known([{ node: UVM_NODE, lines: 1 }]),
  };
  assert.deepEqual(readMemory(directory, standInRecogniser), expected);
  assert.deepEqual(await readMemoryOfWaiting(directory, standInRecogniser, never), expected);
  assert.deepEqual(await readMappingsOfWaiting(directory, standInRecogniser, never), expected.mappings);
});

test("readMemory() does not read mappings that nobody asked for", async () => {
  using stage = openStage();
  await using actor = await stage.start([]);
  const { mappings } = readMemory(`/proc/${actor.pid}`, undefined);
  assert.deepEqual(mappings, absent("not-asked"));
});

test("readMemory() says that a process has wiped its environment, and gives its title", async () => {
  using stage = openStage();
  await using actor = await stage.start(["title", "VLLM::Worker_TP0"], { env: { LOCAL_RANK: "3" } });
  const { argv, environment } = readMemory(`/proc/${actor.pid}`, undefined);
  assert.deepEqual({ argv, environment }, {
    argv: known(["VLLM::Worker_TP0"]),
    environment: absent("erased"),
  });
});

test("readMemory() shows bytes that are no text as such", async () => {
  using stage = openStage();
  await using actor = await stage.start(["title", "\x1b[2J"]);
  assert.deepEqual(readMemory(`/proc/${actor.pid}`, undefined).argv, known(["\x1b[2J"]));
});

test("readMemory() says that a process is gone", () => {
  const gone = absent("exited");
  assert.deepEqual(readMemory("/proc/4194304", standInRecogniser), {
    argv: gone,
    environment: gone,
    mappings: gone,
  });
});

test("readProcess() goes on without the memory of a process that is locked", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  await using hung = await startHungProcess();
  const late = () => realClock.pause(milliseconds(100));
  const read = await readProcess(hung.pid, { calls, recogniser: standInRecogniser, late });
  const { state, argv, environment, waitsIn, uid } = read?.process ?? {};
  const locked = absent(
    "timed-out",
    `/proc/${hung.pid}/cmdline: its memory is locked by a thread that waits`,
  );
  assert.deepEqual({ state, argv, environment, mappings: read?.mappings }, {
    state: "D",
    argv: locked,
    environment: locked,
    mappings: locked,
  });
  assert.deepEqual([waitsIn?.ok, uid?.ok], [true, true]);
});

test("DescriptorReader.read() does not wait for a file system that does not answer", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  await using hung = await startHungProcess();
  const table = calls.reader.read(`${hung.pid}/fd`, ({ kind }) => kind === "regular" ? true : undefined);
  assert.deepEqual([table?.found.length, table?.refused], [1, undefined]);
});
