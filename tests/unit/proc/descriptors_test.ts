import { test } from "node:test";
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { pid } from "../../../lib/core/ids.ts";
import { absent } from "../../../lib/core/reading.ts";
import { type Milliseconds, milliseconds } from "../../../lib/core/units.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { type DescriptorScanOptions, scanDescriptors } from "../../../lib/proc/descriptors.ts";
import { indexFiles } from "../../../lib/proc/devices.ts";
import { openStage } from "../../support/actor.ts";
import { asNobody, NEEDS_ROOT } from "../../support/as_nobody.ts";
import {
  GPU_NODE,
  openProcessCalls,
  STAND_INS,
  standInRecogniser,
  UVM_NODE,
} from "../../support/proc_calls.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const FOREVER = milliseconds(Number.MAX_SAFE_INTEGER);
const stoppedClock = { monotonic: () => milliseconds(0) };

type Fixed = Pick<DescriptorScanOptions, "recogniser" | "clock" | "deadline">;
const FIXED: Fixed = { recogniser: standInRecogniser, clock: stoppedClock, deadline: FOREVER };

/** The numbers of descriptors by node, of one process. */
function countsOf(scan: ReturnType<typeof scanDescriptors>, id: number) {
  return scan.held.get(pid(id))?.nodes.map(({ node, descriptors }) => ({ node, count: descriptors.length }));
}

test("scanDescriptors() counts who has which node open, by device number", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  const { gpu, uvm } = STAND_INS;
  await using actor = await stage.start(["open", gpu, "open", uvm, "open", gpu, "child"]);
  await using idle = await stage.start(["map", uvm]);
  const scan = scanDescriptors({ ...calls, ...FIXED });
  const expected = [{ node: GPU_NODE, count: 2 }, { node: UVM_NODE, count: 1 }];
  assert.deepEqual(countsOf(scan, actor.pid), expected);
  assert.deepEqual(countsOf(scan, actor.child ?? NaN), expected);
  assert.equal(scan.held.has(idle.identity.pid), false);
  assert.equal(scan.coverage.cutShort, undefined);
});

test("scanDescriptors() learns the files that the nodes are", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using _actor = await stage.start(["open", STAND_INS.gpu, "open", STAND_INS.gpu]);
  const { dev, ino } = statSync(STAND_INS.gpu);
  const { files } = scanDescriptors({ ...calls, ...FIXED });
  assert.deepEqual(files.filter(({ node }) => node.kind === "gpu"), [
    { device: dev, inode: ino, node: GPU_NODE },
  ]);
});

test("scanDescriptors() recognises plain files by their own numbers", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  using folder = temporaryFolder();
  const path = folder.write("nvidia0", "");
  const { dev, ino } = statSync(path);
  const recogniser = {
    ...standInRecogniser,
    ofFile: indexFiles([{ device: dev, inode: ino, node: UVM_NODE }]),
  };
  await using actor = await stage.start(["open", path, "open", folder.write("other", "")]);
  const scan = scanDescriptors({ ...calls, ...FIXED, recogniser });
  assert.deepEqual(countsOf(scan, actor.pid), [{ node: UVM_NODE, count: 1 }]);
});

test("scanDescriptors() reads a live thread's table when the main thread has ended", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using actor = await stage.start(["open", STAND_INS.gpu, "end-main"]);
  const scan = scanDescriptors({ ...calls, ...FIXED });
  assert.deepEqual(countsOf(scan, actor.pid), [{ node: GPU_NODE, count: 1 }]);
  assert.notEqual(scan.held.get(actor.identity.pid)?.task, actor.pid);
});

test("scanDescriptors() finds nothing in a zombie, and does not call it unreadable", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using actor = await stage.start(["open", STAND_INS.gpu, "zombie"]);
  const before = scanDescriptors({ ...calls, ...FIXED });
  assert.equal(before.held.has(pid(actor.child ?? NaN)), false);
  assert.equal(before.held.has(actor.identity.pid), true);
});

test(
  "scanDescriptors() counts processes that it may not look into, kernel threads apart",
  NEEDS_ROOT,
  async () => {
    using libc = await openLibc();
    using calls = openProcessCalls(libc);
    using stage = openStage();
    await using actor = await stage.start(["open", STAND_INS.gpu, "zombie"]);
    const scan = await asNobody(libc, () => scanDescriptors({ ...calls, ...FIXED }));
    const { processes, unreadable } = scan.coverage;
    assert.equal(scan.held.has(actor.identity.pid), false);
    assert.ok(unreadable >= 2, `${unreadable} of ${processes}`);
    // Kernel threads, and the zombie, have nothing that could be kept from us.
    assert.ok(unreadable < processes - 20, `${unreadable} of ${processes}`);
  },
);

test("scanDescriptors() stops at its deadline and says how far it came", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  let now = 0;
  const clock = { monotonic: (): Milliseconds => milliseconds(now++) };
  const { coverage } = scanDescriptors({ ...calls, ...FIXED, clock, deadline: milliseconds(4) });
  const [, seen, all] = /^(\d+) of (\d+) processes were looked at$/.exec(coverage.cutShort?.detail ?? "") ??
    [];
  assert.deepEqual(coverage.cutShort, absent("timed-out", `${seen} of ${all} processes were looked at`));
  assert.deepEqual([Number(seen), coverage.processes <= 5, Number(all) > 5], [5, true, true]);
});
