import assert from "node:assert/strict";
import { closeSync, existsSync, openSync, readdirSync, statSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { bytes } from "../../../../lib/core/units.ts";
import { openLibc } from "../../../../lib/native/libc.ts";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { bindMemoryLocks } from "../../../../lib/source/sim/locks.ts";
import { openMemoryPool, readHeldMemory, sweepMemory } from "../../../../lib/source/sim/memory.ts";
import { memoryDirectory } from "../../../../lib/source/sim/server.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const MANY = bytes(100 * 1024 ** 3);

test("openMemoryPool() takes memory that is there until its last descriptor is closed", async () => {
  using folder = temporaryFolder();
  using libc = await openLibc();
  const locks = bindMemoryLocks(libc);
  initSimServer(folder.path, {});
  const pool = openMemoryPool(folder.path, locks);
  const { path, descriptor } = pool.allocate({ gpu: 1 }, MANY);

  const { size, blocks } = statSync(path);
  assert.deepEqual([size, blocks], [MANY, 0]);
  const held = readHeldMemory(folder.path, [0, 1], locks);
  assert.deepEqual(held.map(({ gpu, size, name: { pid, kind } }) => ({ gpu, size, pid, kind })), [
    { gpu: 1, size: MANY, pid: process.pid, kind: "alloc" },
  ]);
  closeSync(descriptor);
  assert.deepEqual(readHeldMemory(folder.path, [0, 1], locks), []);
});

test("openMemoryPool() imports memory under this process's own name", async () => {
  using folder = temporaryFolder();
  using libc = await openLibc();
  const locks = bindMemoryLocks(libc);
  initSimServer(folder.path, {});
  const exporter = openMemoryPool(folder.path, locks).allocate({ gpu: 0 }, bytes(4096), "visible");
  const importer = openMemoryPool(folder.path, locks);
  importer.allocate({ gpu: 0 }, bytes(1));
  const imported = importer.import({ gpu: 0 }, exporter.path);

  assert.equal(statSync(imported.path).ino, statSync(exporter.path).ino);
  assert.match(imported.path, /\.import$/);
  for (const { descriptor } of [exporter, imported]) closeSync(descriptor);
});

test("readHeldMemory() does not take a look at memory for a holder of it", async () => {
  using folder = temporaryFolder();
  using libc = await openLibc();
  const locks = bindMemoryLocks(libc);
  initSimServer(folder.path, {});
  const { path, descriptor } = openMemoryPool(folder.path, locks).allocate({ gpu: 0 }, bytes(4096));
  closeSync(descriptor);
  const onlooker = openSync(path, "r");
  assert.deepEqual(readHeldMemory(folder.path, [0], locks), []);
  closeSync(onlooker);
});

test("sweepMemory() removes what nobody holds and nothing else", async () => {
  using folder = temporaryFolder();
  using libc = await openLibc();
  const locks = bindMemoryLocks(libc);
  initSimServer(folder.path, {});
  const pool = openMemoryPool(folder.path, locks);
  const [held, given] = [pool.allocate({ gpu: 0 }, bytes(1)), pool.allocate({ gpu: 0 }, bytes(1))];
  const stranger = folder.write("mem/gpu0/notes.txt", "");
  closeSync(given.descriptor);

  sweepMemory(folder.path, [0, 1], locks);
  assert.deepEqual([held.path, given.path, stranger].map(existsSync), [true, false, true]);
  assert.equal(readdirSync(memoryDirectory(folder.path, 0)).length, 2);
  closeSync(held.descriptor);
});
