import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync, readlinkSync, statSync } from "node:fs";
import { type DescriptorReader, openDescriptorReader } from "../../../lib/native/descriptor_reader.ts";
import { type Libc, openLibc } from "../../../lib/native/libc.ts";
import { makeDevice } from "../../../lib/proc/devices.ts";
import { openStage } from "../../support/actor.ts";
import { asNobody, NEEDS_ROOT } from "../../support/as_nobody.ts";

/** What the reader says of each file of one table. */
function readAll(reader: DescriptorReader, table: string) {
  return reader.read(table, ({ kind, nodeMajor, nodeMinor, deviceMajor, deviceMinor, inode }) => ({
    kind,
    node: makeDevice(nodeMajor, nodeMinor),
    device: makeDevice(deviceMajor, deviceMinor),
    inode: Number(inode),
  }));
}

/** The same as the runtime's own calls have it. */
function expectAll(table: string) {
  const descriptors = readdirSync(`/proc/${table}`).map(Number).sort((a, b) => a - b);
  const found = descriptors.map((descriptor) => {
    const stat = statSync(`/proc/${table}/${descriptor}`);
    const kind = stat.isCharacterDevice()
      ? "character"
      : stat.isFile()
      ? "regular"
      : stat.isFIFO()
      ? "pipe"
      : "other";
    return { descriptor, what: { kind, node: stat.rdev, device: stat.dev, inode: stat.ino } };
  });
  return { found, count: descriptors.length };
}

/** A C library without what an older one lacks. */
function olderThan(libc: Libc, missing: readonly string[]): Libc {
  return {
    ...libc,
    find: (name, signature) => missing.includes(name) ? undefined : libc.find(name, signature),
  };
}

test("DescriptorReader.read() agrees with stat(2) on every descriptor, gap or no gap", async () => {
  using libc = await openLibc();
  using stage = openStage();
  using reader = openDescriptorReader(libc, "/proc");
  const files = Array.from({ length: 12 }, () => ["open", "/dev/full"]).flat();
  for (const acts of [[], files, [...files, "close", "0"], [...files, "close", "9", "close", "5"]]) {
    await using actor = await stage.start(acts);
    const table = `${actor.pid}/fd`;
    assert.deepEqual(readAll(reader, table), expectAll(table), acts.join(" "));
  }
});

test("DescriptorReader.read() asks about each descriptor once, behind a gap too", async () => {
  using libc = await openLibc();
  using stage = openStage();
  let asked = 0;
  const counting: Libc = {
    ...libc,
    find(name, signature) {
      const found = libc.find(name, signature);
      if (name !== "statx" || found === undefined) return found;
      return (...args) => {
        asked++;
        return found(...args);
      };
    },
  };
  using reader = openDescriptorReader(counting, "/proc");
  const files = Array.from({ length: 12 }, () => ["open", "/dev/full"]).flat();
  await using actor = await stage.start([...files, "close", "9"]);
  const { length } = readdirSync(`/proc/${actor.pid}/fd`);
  reader.read(`${actor.pid}/fd`, () => undefined);
  // Beside the descriptors: the table's size before and after, and the gap.
  assert.equal(asked, length + 3);
});

test("DescriptorReader.read() agrees with stat(2) without the C library's help", async () => {
  using libc = await openLibc();
  using stage = openStage();
  using reader = openDescriptorReader(olderThan(libc, ["statx", "getdents64"]), "/proc");
  await using actor = await stage.start(["open", "/dev/full", "close", "0"]);
  assert.deepEqual(readAll(reader, `${actor.pid}/fd`), expectAll(`${actor.pid}/fd`));
});

test("DescriptorReader.read() lists the table where the kernel does not give its size", async () => {
  using libc = await openLibc();
  using stage = openStage();
  // As before Linux 6.2: statx(2) of the open directory itself, whose name is empty, fails.
  const withoutSize: Libc = {
    ...libc,
    find(name, signature) {
      const found = libc.find(name, signature);
      if (name !== "statx" || found === undefined) return found;
      return (...args) => args[1] instanceof Uint8Array && args[1].length === 1 ? -1 : found(...args);
    },
  };
  using reader = openDescriptorReader(withoutSize, "/proc");
  const files = Array.from({ length: 1500 }, () => ["open", "/dev/full"]).flat();
  await using actor = await stage.start(files);
  const table = readAll(reader, `${actor.pid}/fd`);
  assert.deepEqual(table, expectAll(`${actor.pid}/fd`));
});

test("DescriptorReader.read() finds nothing for a process that is gone", async () => {
  using libc = await openLibc();
  using reader = openDescriptorReader(libc, "/proc");
  assert.equal(reader.read("4194304/fd", () => true), undefined);
});

test("DescriptorReader.read() may not look into another user's process", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  using stage = openStage();
  using reader = openDescriptorReader(libc, "/proc");
  await using actor = await stage.start([]);
  assert.equal(await asNobody(libc, () => reader.read(`${actor.pid}/fd`, () => true)), undefined);
});

test("DescriptorReader.findKind() tells a pipe", async () => {
  using libc = await openLibc();
  using stage = openStage();
  using reader = openDescriptorReader(libc, "/proc");
  await using actor = await stage.start(["open", "/dev/full", "close", "0"]);
  const kinds = [1, 0].map((descriptor) => reader.findKind(`${actor.pid}/fd/${descriptor}`));
  const isPipe = readlinkSync(`/proc/${actor.pid}/fd/1`).startsWith("pipe:");
  assert.deepEqual(kinds, [isPipe ? "pipe" : "other", undefined]);
});

test("DescriptorReader.countThreads() counts a dead main thread as well", async () => {
  using libc = await openLibc();
  using stage = openStage();
  using reader = openDescriptorReader(libc, "/proc");
  await using one = await stage.start([]);
  await using three = await stage.start(["thread", "end-main"]);
  const counts = [one.pid, three.pid, 4_194_304].map((pid) => reader.countThreads(`${pid}/task`));
  assert.deepEqual(counts, [1, 3, 0]);
});

test("openDescriptorReader() fails where there is no /proc", async () => {
  using libc = await openLibc();
  assert.throws(() => openDescriptorReader(libc, "/nowhere"), {
    message: "Cannot open /nowhere: openat(2) failed with errno 2",
  });
});
