import { test } from "node:test";
import assert from "node:assert/strict";
import { closeSync, openSync, readlinkSync } from "node:fs";
import { ERRNO, openLibc } from "../../../lib/native/libc.ts";
import { bindPidfd } from "../../../lib/native/pidfd.ts";
import { openStage } from "../../support/actor.ts";
import { until } from "../../support/until.ts";

const SIGKILL = 9;

test("PidfdCalls.send() ends a process whose main thread is dead already", async () => {
  using libc = await openLibc();
  using stage = openStage();
  await using actor = await stage.start(["end-main"]);
  const pidfd = bindPidfd(libc);
  const held = pidfd.open(actor.pid) ?? NaN;
  assert.equal(pidfd.hasEnded(held), false);
  assert.equal(pidfd.send(held, SIGKILL), true);
  await until("the last thread to end", () => pidfd.hasEnded(held));
  pidfd.close(held);
});

test("PidfdCalls.hasEnded() counts a zombie as ended", async () => {
  using libc = await openLibc();
  using stage = openStage();
  await using actor = await stage.start(["zombie"]);
  const pidfd = bindPidfd(libc);
  const held = pidfd.open(actor.child ?? NaN) ?? NaN;
  assert.equal(pidfd.hasEnded(held), true);
  pidfd.close(held);
});

test("PidfdCalls.open() gives nothing for a pid that nobody has", async () => {
  using libc = await openLibc();
  assert.equal(bindPidfd(libc).open(4_194_304), undefined);
});

test("PidfdCalls.copyDescriptor() gives the very file, or the error number", async () => {
  using libc = await openLibc();
  using stage = openStage();
  await using actor = await stage.start(["open", "/dev/full"]);
  const pidfd = bindPidfd(libc);
  const held = pidfd.open(actor.pid) ?? NaN;
  const copies = Array.from({ length: 8 }, (_, descriptor) => pidfd.copyDescriptor(held, descriptor + 3));
  const [first = NaN] = copies.filter((copy) => copy >= 0);
  assert.equal(readlinkSync(`/proc/self/fd/${first}`), "/dev/full");
  assert.equal(pidfd.copyDescriptor(held, 4000), -ERRNO.EBADF);
  for (const descriptor of [held, ...copies.filter((copy) => copy >= 0)]) pidfd.close(descriptor);
});

test("PidfdCalls.isBrokenPipe() tells whether a pipe has a reader left", async () => {
  using libc = await openLibc();
  const pidfd = bindPidfd(libc);
  const ends = new Int32Array(2);
  libc.bind("pipe", { args: ["ptr"], returns: "i32" })(new Uint8Array(ends.buffer));
  const [reading = NaN, writing = NaN] = ends;
  assert.equal(pidfd.isBrokenPipe(writing), false);
  pidfd.close(reading);
  assert.equal(pidfd.isBrokenPipe(writing), true);
  pidfd.close(writing);
  const file = openSync("/dev/null", "w");
  assert.equal(pidfd.isBrokenPipe(file), false);
  closeSync(file);
});
