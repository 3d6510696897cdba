import assert from "node:assert/strict";
import { test } from "node:test";
import { startSim } from "../support/sim.ts";
import { changeFaults, linesOf, QUICK_WATCH, untilTold } from "../support/watching.ts";

test("watch tells of a ghost once, and once more when its memory is back", async () => {
  await using server = await startSim({ gpus: 2 });
  await using watch = server.start([...QUICK_WATCH, "--ghost-for", "300ms"]);
  await watch.untilOutput(/"event":"sample"/);
  const hold = await server.hold({ scene: "forked-child", gpu: 1 });
  const { message, evidence } = await untilTold(watch, "alert", "ghost");
  assert.match(message ?? "", /^PID \d+ is dead and still has 2\.5 GiB on GPU 1$/);
  assert.match(evidence?.[0] ?? "", new RegExp(`^most likely kept by PID ${hold.readyPid} \\(`));
  await hold[Symbol.asyncDispose]();
  const { lastedMs = 0 } = await untilTold(watch, "cleared", "ghost");
  assert.ok(lastedMs >= 300, `${lastedMs} ms`);
  assert.equal(linesOf(watch.stdout).filter(({ event }) => event === "alert").length, 1);
});

test("watch tells of memory above a limit, a share as well as a size, and ends with 10 if it is to", async () => {
  await using server = await startSim({ gpus: 1, memory: "10GiB" });
  await server.hold({ bytes: "5GiB" });
  for (const limit of ["50%", "5GiB"]) {
    const { status, stdout, stderr } = await server.run([
      ...[...QUICK_WATCH, "--memory-above", limit, "--until-alert", "--for", "20s"],
    ]);
    assert.deepEqual({ status, stderr }, { status: 10, stderr: "" });
    const told = linesOf(stdout).filter(({ event }) => event === "alert");
    assert.deepEqual(told.map(({ message }) => message), ["5.5 GiB of 10 GiB (55 %) are in use on GPU 0"]);
  }
  const fine = await server.run([
    ...[...QUICK_WATCH, "--memory-above", "60%", "--until-alert", "--count", "5"],
  ]);
  assert.deepEqual([fine.status, linesOf(fine.stdout).length], [0, 5]);
});

test("watch tells of a process that takes more and more, and not of one that took much at once", async () => {
  await using server = await startSim({ gpus: 2 });
  await using grows = server.start([
    ...["sim", "hold", "--gpu", "1", "--bytes", "1GiB", "--grow", "200MiB/s", "--for", "60s"],
  ]);
  const [, pid] = await grows.untilOutput(/^ready (\d+)$/m);
  await server.hold({ gpu: 0, bytes: "8GiB" });
  await using watch = server.start([
    ...[...QUICK_WATCH, "--growth", "100MiB/s", "--growth-window", "3s", "--warm-up", "0s"],
  ]);
  const told = await untilTold(watch, "alert", "growth");
  assert.deepEqual([told.process?.pid, told.gpu?.index], [Number(pid), 1]);
  assert.match(told.evidence?.[0] ?? "", /^from [\d.]+ GiB to [\d.]+ GiB in 3(?:\.\d)? s, rising all along$/);
  assert.match(told.evidence?.[1] ?? "", /^[\d.]+ GiB are free: at this pace, .* full in \d/);
  assert.equal(linesOf(watch.stdout).filter(({ event }) => event === "alert").length, 1);
});

test("watch tells of memory of nobody, a lost GPU, recovery, a latch and Xids as they come up and go", async () => {
  await using server = await startSim({
    gpus: 3,
    faults: 'xids = ["NVRM: Xid (PCI:0000:11:00): 79, old"]\n',
  });
  const [{ busId = "" } = {}] = JSON.parse((await server.run(["snapshot", "--json"])).stdout).gpus;
  await using watch = server.start([
    ...["watch", "--json", "--interval", "50ms", "--unattributed-for", "200ms"],
    ...["--busy-without-process-for", "200ms", "--once-per", "1s"],
  ]);
  await watch.untilOutput(/"event":"sample"/);
  await changeFaults(
    server,
    [
      `xids = ["NVRM: Xid (PCI:0000:11:00): 79, old", "NVRM: Xid (PCI:${
        busId.slice(0, -2)
      }): 48, pid=1, DBE"]`,
      "[gpu.0]",
      'unattributed = "3GiB"',
      "[gpu.1]",
      "lost = true",
      "[gpu.2]",
      "utilization-latch = true",
      'recovery-action = "reset"',
    ].join("\n"),
  );
  const messages: (string | undefined)[] = [];
  for (const kind of ["unattributed", "gpu-lost", "busy-without-process", "recovery", "xid"]) {
    messages.push((await untilTold(watch, "alert", kind)).message);
  }
  assert.deepEqual(messages, [
    "3 GiB on GPU 0 are listed with no process",
    "GPU 1 cannot be asked: the GPU has fallen off the bus (GPU is lost)",
    "GPU 2 says that it is 100 % busy, and no process uses it",
    "the driver asks for recovery of GPU 2: reset",
    "Xid 48 on GPU 0: a double-bit memory error: drain the GPU, then reset it",
  ]);
  await changeFaults(server, "");
  for (const kind of ["unattributed", "gpu-lost", "busy-without-process", "recovery", "xid"]) {
    await untilTold(watch, "cleared", kind);
  }
  const told = linesOf(watch.stdout).filter(({ event }) => event === "alert").map(({ kind }) => kind);
  assert.equal(new Set(told).size, told.length, `${told}`);
});

test("watch tells of a job that keeps memory and does nothing", async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await server.hold();
  await using watch = server.start([...QUICK_WATCH, "--idle-for", "1s"]);
  const { process, message } = await untilTold(watch, "alert", "idle");
  assert.equal(process?.pid, readyPid);
  assert.match(message ?? "", / keeps 2\.5 GiB on GPU 0 and does nothing$/);
});

test("watch tells of a driver that hangs, goes on, and says when it is back", async () => {
  await using server = await startSim({ gpus: 1 });
  await using watch = server.start([...QUICK_WATCH, "--deadline", "300ms"]);
  await watch.untilOutput(/"event":"sample"/);
  await changeFaults(server, "hang = true\n");
  const { message } = await untilTold(watch, "alert", "driver");
  assert.equal(
    message,
    "the driver gives no answer: no answer in time (the driver gave no answer within 300 ms)",
  );
  await watch.untilOutput(/"gpus":null/);
  await changeFaults(server, "");
  await untilTold(watch, "cleared", "driver");
});

test("watch ends with 3 when the driver has never answered, whether or not it waits for an alert", async () => {
  await using server = await startSim({ gpus: 1, faults: "hang = true\n" });
  for (const more of [["--count", "2"], ["--until-alert"]]) {
    const { status, stdout } = await server.run([...QUICK_WATCH, "--deadline", "200ms", ...more]);
    const told = linesOf(stdout).filter(({ event }) => event === "alert").map(({ kind }) => kind);
    assert.deepEqual([status, told], [3, ["driver"]]);
  }
});

test("watch watches the GPUs that were named, also one that is lost, and refuses one that is not there", async () => {
  await using server = await startSim({ gpus: 3, faults: "[gpu.2]\nlost = true\n" });
  const { stdout } = await server.run([...QUICK_WATCH, "--gpu", "1-2", "--count", "1"]);
  const lines = linesOf(stdout);
  assert.deepEqual(lines.map(({ kind, gpus }) => kind ?? gpus?.map(({ index }) => index)), ["gpu-lost", [1]]);
  const { status, stderr } = await server.run([...QUICK_WATCH, "--gpu", "7"]);
  assert.equal(status, 3);
  assert.match(stderr, /^gpuctl: Cannot select GPU 7: /);
});
