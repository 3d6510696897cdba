import { test } from "node:test";
import assert from "node:assert/strict";
import { pid } from "../../../lib/core/ids.ts";
import { clockTicks } from "../../../lib/core/units.ts";
import { type Libc, openLibc } from "../../../lib/native/libc.ts";
import { openProcessTable } from "../../../lib/proc/table.ts";
import { findStat } from "../../../lib/proc/stat.ts";
import { openStage } from "../../support/actor.ts";
import { asNobody, NEEDS_ROOT } from "../../support/as_nobody.ts";
import { until } from "../../support/until.ts";
import { isRunning, startVictim, STUBBORN } from "../../support/victim.ts";

test("ProcessTable.findProcess() finds who has a pid, and nobody for what is none", async () => {
  using libc = await openLibc();
  const table = openProcessTable(libc);
  await using victim = await startVictim();
  assert.equal(table.findProcess(victim.pid)?.startTicks, victim.identity.startTicks);
  assert.deepEqual([4_194_304, 0, -1, 1.5, NaN].map((id) => table.findProcess(id)), Array(5).fill(undefined));
});

test("ProcessTable.openProcess() refuses a later process under the same pid", async () => {
  using libc = await openLibc();
  const table = openProcessTable(libc);
  await using victim = await startVictim();
  const earlier = { ...victim.identity, startTicks: clockTicks(victim.identity.startTicks - 1) };
  assert.equal(table.openProcess(earlier), undefined);
  assert.equal(isRunning(victim.identity), true);
});

test("ProcessTable.openProcess() finds nobody once the process is gone, or a zombie", async () => {
  using libc = await openLibc();
  using stage = openStage();
  const table = openProcessTable(libc);
  await using actor = await stage.start(["zombie"]);
  const zombie = findStat(`/proc/${actor.child}`);
  assert.equal(zombie?.state, "Z");
  assert.ok(zombie);
  assert.equal(table.openProcess(zombie), undefined);
  assert.equal(table.openProcess({ pid: pid(4_194_304), startTicks: clockTicks(1) }), undefined);
});

test("ProcessHandle.send() reaches exactly the process, until it is gone", async () => {
  using libc = await openLibc();
  await using victim = await startVictim();
  using handle = openProcessTable(libc).openProcess(victim.identity);
  assert.equal(handle?.send("SIGTERM"), "sent");
  await victim.ended;
  assert.equal(handle?.send("SIGKILL"), "gone");
});

test("ProcessHandle.send() says that a process is gone which only waits to be reaped", async () => {
  using libc = await openLibc();
  using stage = openStage();
  await using parent = await stage.start(["child"]);
  const child = findStat(`/proc/${parent.child}`);
  assert.ok(child);
  using handle = openProcessTable(libc).openProcess(child);
  assert.equal(handle?.send("SIGKILL"), "sent");
  await until("the child to be a zombie", () => findStat(`/proc/${parent.child}`)?.state === "Z");
  assert.equal(handle?.send("SIGKILL"), "gone");
});

test("ProcessHandle.send() sends each signal under its own number", async () => {
  using libc = await openLibc();
  const script =
    'for s in TERM INT HUP QUIT CONT; do trap "echo got $s" $s; done; echo ready; while :; do sleep 0.05; done';
  await using victim = await startVictim(script);
  using handle = openProcessTable(libc).openProcess(victim.identity);
  for (const name of ["TERM", "INT", "HUP", "QUIT", "CONT"] as const) {
    assert.equal(handle?.send(`SIG${name}`), "sent");
    await victim.untilOutput(new RegExp(`^got ${name}$`, "m"));
  }
  assert.equal(handle?.send("SIGKILL"), "sent");
  assert.equal((await victim.ended).signal, "SIGKILL");
});

test("ProcessHandle.send() ends a process whose main thread is dead", async () => {
  using libc = await openLibc();
  using stage = openStage();
  await using actor = await stage.start(["end-main"]);
  using handle = openProcessTable(libc).openProcess(actor.identity);
  assert.equal(handle?.send("SIGKILL"), "sent");
  await actor.ended;
  assert.equal(handle?.send("SIGKILL"), "gone");
});

test(
  "ProcessHandle.send() is denied for another user's process, and leaves it alone",
  NEEDS_ROOT,
  async () => {
    using libc = await openLibc();
    await using victim = await startVictim(STUBBORN);
    using handle = openProcessTable(libc).openProcess(victim.identity);
    assert.equal(await asNobody(libc, () => handle?.send("SIGKILL")), "denied");
    assert.equal(isRunning(victim.identity), true);
  },
);

test("ProcessTable.openProcess() says when the kernel gives no descriptor", async () => {
  using libc = await openLibc();
  await using victim = await startVictim();
  const sealed: Libc = {
    ...libc,
    bindSyscall: (name, signature) => name === "pidfd_open" ? () => -1 : libc.bindSyscall(name, signature),
  };
  assert.throws(() => openProcessTable(sealed).openProcess(victim.identity), {
    name: "GpuctlError",
    failure: "unavailable",
    message: `Cannot hold process ${victim.pid}: the kernel gives no descriptor for it`,
  });
  await until("it to live on", () => isRunning(victim.identity));
});
