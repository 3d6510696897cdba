import assert from "node:assert/strict";
import { test } from "node:test";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { bytes } from "../../../../lib/core/units.ts";
import { until } from "../../../support/until.ts";
import { startMachine } from "./machine.ts";

/** Driver 580.159.04 on two H200s: descriptors and lines of maps. */
const CUDA = {
  open: { nvidia0: 23, nvidia1: 7, nvidiactl: 2, "nvidia-uvm": 4 },
  mapped: { nvidia0: 3, nvidia1: 2, nvidiactl: 27, "nvidia-uvm": 1 },
};
const INHERITED = { open: CUDA.open, mapped: { nvidia0: 3, nvidia1: 2, nvidiactl: 27 } };

/** What a context and the memory behind it come to, and what the sight of the other GPU costs. */
const TWO_GIB = 518 + 2048;
const SEEN = [3, {}] as const;
/** For scenes that take their time. */
const LONG = { timeout: 30_000 };

function hasEnded(pid: number | undefined): boolean {
  return !existsSync(`/proc/${pid}`) || /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}

test("holdMemory() shows a job at work in the plain scene", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--bytes", "2GiB"]);

  assert.deepEqual([job.pid, job.holders, job.dead], [job.ready, [], undefined]);
  assert.deepEqual(machine.picture(job.ready), { state: "S", parentPid: process.pid, ...CUDA });
  assert.deepEqual(await machine.memory(), [[TWO_GIB, { [job.ready]: TWO_GIB }], SEEN]);
  job.send("SIGTERM");
  await machine.untilFree();
  assert.equal((await job.ended).signal, "SIGTERM");
});

test("holdMemory() ends with status 0 when the time of the scene is over", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--for", "300ms"]);
  const { status, stdout, stderr } = await job.ended;
  assert.deepEqual([status, stdout, stderr], [0, `ready ${job.pid}\n`, ""]);
});

test(
  "holdMemory() takes more and more where it is to grow, and stops when its GPU is full",
  LONG,
  async () => {
    await using machine = startMachine({ gpus: 1, memory: bytes(4 * 1024 ** 3) });
    const job = await machine.hold(["--bytes", "1GiB", "--grow", "1GiB/s"]);
    const used = async () => (await machine.memory())[0]?.[0] ?? 0;
    const first = await used();
    await until("it to grow", async () => await used() > first);
    const full = await until("the GPU to be nearly full", async () => {
      const now = await used();
      return now > 3500 && now;
    });
    assert.ok(full <= 4096, `${full} MiB`);
    assert.deepEqual(Object.keys((await machine.memory())[0]?.[1] ?? {}), [String(job.ready)]);
  },
);

test("holdMemory() opens nodes and maps none in the monitor scene", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--scene", "monitor"], { CUDA_VISIBLE_DEVICES: "" });
  assert.deepEqual(machine.picture(job.ready), {
    state: "S",
    parentPid: process.pid,
    open: { nvidia0: 3, nvidia1: 3, nvidiactl: 1, "nvidia-uvm": 2 },
    mapped: {},
  });
  assert.deepEqual(await machine.memory(), [[0, {}], [0, {}]]);
});

test("holdMemory() leaves a child with a dead process's memory in the scene forked-child", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--scene", "forked-child", "--bytes", "2GiB"]);

  assert.equal(job.dead, job.pid);
  assert.equal(hasEnded(job.pid), true);
  const { parentPid, ...picture } = machine.picture(job.ready);
  assert.deepEqual(picture, { state: "S", ...INHERITED });
  assert.notEqual(parentPid, job.pid);
  assert.deepEqual(await machine.memory(), [[TWO_GIB, { [job.pid]: TWO_GIB }], SEEN]);
  process.kill(job.ready, "SIGKILL");
  await machine.untilFree();
});

test("holdMemory() has a dead main thread hold everything in the scene zombie-leader", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--scene", "zombie-leader", "--bytes", "2GiB"]);

  assert.deepEqual(machine.picture(job.ready), { state: "Z", parentPid: job.pid, ...CUDA });
  assert.match(readFileSync(`/proc/${job.ready}/status`, "utf8"), /^Threads:\t([2-9]|\d\d)$/m);
  assert.deepEqual(await machine.memory(), [[TWO_GIB, { [job.ready]: TWO_GIB }], SEEN]);
  process.kill(job.ready, "SIGKILL");
  await machine.untilFree();
  assert.equal((await job.ended).status, 137);
});

test("holdMemory() ends a holder that cannot end by itself with the scene and with the job", async () => {
  await using machine = startMachine();
  for (const scene of ["zombie-leader", "stopped"]) {
    const timed = await machine.hold(["--scene", scene, "--for", "400ms"]);
    assert.equal((await timed.ended).status, 0, scene);
    await machine.untilFree();
    const killed = await machine.hold(["--scene", scene]);
    killed.send("SIGKILL");
    await machine.untilFree();
  }
});

test("holdMemory() stops a holder in the scene stopped", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--scene", "stopped", "--bytes", "2GiB"]);

  assert.deepEqual(machine.picture(job.ready), { state: "T", parentPid: job.pid, ...CUDA });
  process.kill(job.ready, "SIGTERM");
  assert.equal(machine.picture(job.ready).state, "T");
  assert.deepEqual(await machine.memory(), [[TWO_GIB, { [job.ready]: TWO_GIB }], SEEN]);
  process.kill(job.ready, "SIGCONT");
  await machine.untilFree();
  assert.equal((await job.ended).status, 143);
});

test("holdMemory() leaves workers and their tracker in the scene spawn-orphans", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--scene", "spawn-orphans", "--bytes", "2GiB"]);
  const [first = 0, second = 0] = job.holders;

  assert.deepEqual([job.holders.length, job.ready, job.dead], [2, first, job.pid]);
  for (const pid of job.holders) {
    const { parentPid, ...picture } = machine.picture(pid);
    assert.deepEqual(picture, { state: "S", ...CUDA });
    assert.notEqual(parentPid, job.pid);
    assert.deepEqual(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(-4), [
      "-c",
      "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)",
      "--multiprocessing-fork",
      "",
    ]);
  }
  assert.deepEqual(await machine.memory(), [[2 * TWO_GIB, { [first]: TWO_GIB, [second]: TWO_GIB }], [6, {}]]);
  process.kill(first, "SIGKILL");
  process.kill(second, "SIGKILL");
  await machine.untilFree();
});

test(
  "holdMemory() leaves workers that go by themselves within 6 s in the scene dataloader-orphans",
  LONG,
  async () => {
    await using machine = startMachine();
    const job = await machine.hold(["--scene", "dataloader-orphans", "--bytes", "2GiB"]);
    const since = performance.now();

    assert.deepEqual([job.holders.length, job.dead], [2, job.pid]);
    for (const pid of job.holders) {
      const { parentPid: _, ...picture } = machine.picture(pid);
      assert.deepEqual(picture, { state: "S", ...INHERITED });
    }
    assert.deepEqual(await machine.memory(), [[TWO_GIB, { [job.pid]: TWO_GIB }], SEEN]);
    await machine.untilFree();
    const seconds = (performance.now() - since) / 1000;
    assert.ok(seconds > 4.5 && seconds < 9, `they left after ${seconds} s`);
  },
);

test("holdMemory() charges a dead process's memory to who has imported it in the scene ipc-importer", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--scene", "ipc-importer", "--bytes", "2GiB"]);

  assert.equal(job.dead, job.pid);
  const { parentPid: _, ...picture } = machine.picture(job.ready);
  assert.deepEqual(picture, { state: "S", ...CUDA });
  assert.deepEqual(await machine.memory(), [[TWO_GIB, { [job.ready]: TWO_GIB }], SEEN]);
  process.kill(job.ready, "SIGKILL");
  await machine.untilFree();
});

test(
  "holdMemory() gives memory back bit by bit after the job's end in the scene slow-release",
  LONG,
  async () => {
    await using machine = startMachine();
    const job = await machine.hold(["--scene", "slow-release", "--bytes", "2GiB"]);
    const picture = machine.picture(job.ready);
    assert.deepEqual(picture, { state: "S", parentPid: process.pid, ...CUDA });

    job.send("SIGKILL");
    await until("the job to be dead", () => hasEnded(job.pid));
    const steps = new Set<number>();
    await until("memory to be given back", async () => {
      const [[used] = [NaN]] = await machine.memory();
      steps.add(used);
      return used === 0;
    });
    assert.ok(steps.size > 4, `seen: ${[...steps]}`);
    assert.deepEqual([...steps], [...steps].toSorted((a, b) => b - a));
  },
);

test("holdMemory() ends the job with status 0 and leaves the rest behind when it is to exit cleanly", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--scene", "forked-child", "--clean-exit", "--bytes", "2GiB"]);
  assert.deepEqual(await machine.memory(), [[TWO_GIB, { [job.pid]: TWO_GIB }], SEEN]);
  process.kill(job.ready, "SIGKILL");
  const { status, signal } = await job.ended;
  assert.deepEqual([status, signal], [0, null]);
});

test("holdMemory() starts a rank on each GPU, astray on the first one if told", async () => {
  await using machine = startMachine();
  const job = await machine.hold(["--ranks", "2", "--stray-context", "--bytes", "256MiB"]);
  const [first = 0, second = 0] = job.holders;

  assert.deepEqual(await machine.memory(), [[774 + 612, { [first]: 774, [second]: 612 }], [774 + 3, {
    [second]: 774,
  }]]);
  assert.deepEqual(machine.picture(second).open, { nvidia0: 23, nvidia1: 23, nvidiactl: 2, "nvidia-uvm": 4 });
  const environment = readFileSync(`/proc/${second}/environ`, "utf8").split("\0");
  assert.deepEqual(
    ["LOCAL_RANK=1", "RANK=1", "WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none"].filter((each) =>
      !environment.includes(each)
    ),
    [],
  );
  job.send("SIGTERM");
  await machine.untilFree();
});

test("holdMemory() obeys CUDA_VISIBLE_DEVICES, unless the job sets it too late", async () => {
  await using machine = startMachine();
  const masked = await machine.hold(["--bytes", "0"], { CUDA_VISIBLE_DEVICES: "1" });
  const { open, mapped } = machine.picture(masked.ready);
  assert.deepEqual([open, mapped], [
    { nvidia0: 3, nvidia1: 23, nvidiactl: 2, "nvidia-uvm": 4 },
    { nvidia1: 3, nvidiactl: 27, "nvidia-uvm": 1 },
  ]);
  assert.deepEqual(await machine.memory(), [[0, {}], [518, { [masked.ready]: 518 }]]);
  masked.send("SIGKILL");
  await machine.untilFree();

  const late = await machine.hold(["--bytes", "0", "--gpu", "1", "--late-variable"]);
  assert.deepEqual(await machine.memory(), [[518, { [late.ready]: 518 }], SEEN]);
});

test("holdMemory() gives each rank a context on the GPU of each other one if told", async () => {
  await using machine = startMachine({ gpus: 4 });
  const words = ["--ranks", "3", "--gpu", "0,1,3", "--peer-contexts", "--bytes", "256MiB"];
  const { holders: [first = 0, second = 0, third = 0] } = await machine.hold(words);

  assert.deepEqual(await machine.memory(), [
    [774 + 2 * 518, { [first]: 774, [second]: 518, [third]: 518 }],
    [774 + 2 * 518, { [first]: 518, [second]: 774, [third]: 518 }],
    [9, {}],
    [774 + 2 * 518, { [first]: 518, [second]: 518, [third]: 774 }],
  ]);
});

test("holdMemory() obeys what the job sets before CUDA starts, which /proc does not show", async () => {
  await using machine = startMachine();
  const { ready } = await machine.hold(["--bytes", "0", "--set-visible-devices", "1"], {
    CUDA_VISIBLE_DEVICES: "0",
  });

  assert.deepEqual(await machine.memory(), [[0, {}], [518, { [ready]: 518 }]]);
  assert.ok(readFileSync(`/proc/${ready}/environ`, "utf8").split("\0").includes("CUDA_VISIBLE_DEVICES=0"));
});

test("holdMemory() leaves nothing of the environment of a job that writes over it", async () => {
  await using machine = startMachine();
  const words = ["--bytes", "0", "--erase-environment", "--for", "3s"];
  const alone = await machine.hold(words, { CUDA_VISIBLE_DEVICES: "1" });
  const { holders } = await machine.hold([...words, "--ranks", "2"]);

  for (const pid of [alone.ready, ...holders]) {
    const environment = readFileSync(`/proc/${pid}/environ`);
    assert.deepEqual([environment.length > 0, environment.every((byte) => byte === 0)], [true, true]);
  }
});
