import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { redactSnapshot } from "../../../lib/analysis/redact.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { Holder } from "../../../lib/model/snapshot.ts";
import { observe, type ProcessSpec } from "../../support/machine.ts";

const DOCKER_ID = "4".repeat(64);
const EVE = { uid: 1007, name: "eve" };

function redactProcesses(processes: readonly ProcessSpec[]): readonly Holder[] {
  return redactSnapshot(attribute(observe({ processes }))).holders;
}

test("redactSnapshot() replaces a user, a uid, a group and arguments, and keeps how a program was started", () => {
  const [holder] = redactProcesses([{
    pid: 5,
    touch: "context",
    user: EVE,
    program: "/home/eve/venv/bin/python3.12",
    argv: ["/home/eve/venv/bin/python3.12", "-m", "torch.distributed.run", "falcon.py", "--key=hunter2"],
    owner: {
      cgroup: "/user.slice/user-1007.slice/session-c8.scope",
      unit: "session-c8.scope",
      loginSession: "c8",
    },
  }]);
  assert.deepEqual(
    [holder?.uid, holder?.user, holder?.argv, holder?.owner],
    [
      known(10_001),
      known("user-1"),
      known([
        "/home/user-1/venv/bin/python3.12",
        "-m",
        "torch.distributed.run",
        "arg-1.py",
        "arg-2",
      ]),
      known({
        cgroup: "/user.slice/user-10001.slice/session-1.scope",
        isCgroupDeleted: false,
        unit: "session-1.scope",
        loginSession: "1",
      }),
    ],
  );
});

test("redactSnapshot() gives a container in a sentence, a group and a field one stand-in, though its short id is all digits", () => {
  const [holder] = redactProcesses([{
    pid: 5,
    touch: "context",
    namespacePids: [5, 1],
    owner: {
      cgroup: `/system.slice/docker-${DOCKER_ID}.scope`,
      unit: `docker-${DOCKER_ID}.scope`,
      container: { id: DOCKER_ID, runtime: "docker", isMonitor: false },
    },
  }]);
  assert.deepEqual(
    holder?.owner,
    known({
      cgroup: "/system.slice/docker-container-1.scope",
      isCgroupDeleted: false,
      unit: "docker-container-1.scope",
      container: { id: "container-1", runtime: "docker", isMonitor: false },
    }),
  );
  assert.deepEqual([holder?.evidence, holder?.advice], [
    ["lives in container container-1 (docker)"],
    "Stop the container, or name it: gpuctl clean-zombies --container container-1",
  ]);
});

test("redactSnapshot() replaces names that only a sentence has: a parent's of digits and brackets, a path", () => {
  const holders = redactProcesses([
    { pid: 4, program: "/home/eve/run", comm: "42) (x" },
    { pid: 5, parent: 4, touch: "context" },
    { pid: 6, touch: "context", program: "/home/eve/Xorg", argv: ["Xorg"] },
  ]);
  assert.deepEqual(holders.map(({ evidence }) => evidence), [
    ["its starter lives: PID 4 (name-1)"],
    ["is named like a part of the system, but runs from /home/part-1/Xorg"],
  ]);
});

test("redactSnapshot() keeps the parts of the system by name, and a user who is called like one is hidden all the same", () => {
  const holders = redactProcesses([
    { pid: 4, program: "/usr/bin/bash", argv: ["-bash"] },
    {
      pid: 5,
      touch: "visible",
      user: { uid: 0, name: "root" },
      program: "/usr/bin/nvidia-persistenced",
      argv: [],
    },
    { pid: 6, touch: "context", user: { uid: 1008, name: "lim" }, program: "/home/lim/train", parent: 4 },
  ]);
  assert.deepEqual(
    holders.map(({ uid, user, name, evidence }) => [uid, user, name, evidence]),
    [
      [known(0), known("root"), "nvidia-persiste", ["runs /usr/bin/nvidia-persistenced"]],
      [known(10_002), known("user-1"), "name-1", ["its starter lives: PID 4 (bash)"]],
    ],
  );
});

test("redactSnapshot() hides a program that is called like somebody, also where the program comes first", () => {
  const once = redactSnapshot(attribute(observe({
    processes: [
      { pid: 5, touch: "context", user: { uid: 0, name: "root" }, program: "/usr/sbin/lim", argv: ["lim"] },
      { pid: 6, touch: "context", user: { uid: 1008, name: "lim" } },
    ],
  })));
  assert.deepEqual(once.holders.map(({ user, name }) => [user, name]), [
    [known("root"), "user-1"],
    [known("user-1"), "python3.12"],
  ]);
  assert.deepEqual(redactSnapshot(once), once);
});

test("redactSnapshot() leaves its own sentence alone where somebody is called like a word of it", () => {
  const [holder] = redactProcesses([
    { pid: 5, parent: 4, touch: "context", user: { uid: 1009, name: "starter" } },
    { pid: 4, program: "/usr/bin/bash", argv: ["-bash"] },
  ]);
  assert.deepEqual([holder?.user, holder?.evidence], [
    known("user-1"),
    ["its starter lives: PID 4 (bash)"],
  ]);
});

test("redactSnapshot() hides the machine and its GPUs, and keeps what tells GPUs apart in a table", () => {
  const snapshot = attribute(observe({ processes: [{ pid: 5, touch: "context" }], gpus: [{}, {}] }));
  const { host, gpus } = redactSnapshot({
    ...snapshot,
    host: { ...snapshot.host, kernel: known("6.8.0-45-acme+") },
  });
  assert.deepEqual(host, {
    name: known("host-1"),
    bootId: known("boot-1"),
    kernel: known("6.8.0-45-kernel1+"),
  });
  assert.deepEqual(gpus.map(({ gpu }) => [gpu.index, gpu.uuid, gpu.name, gpu.busId]), [
    [0, "GPU-00000001-0000-0000-0000-000000000000", known("NVIDIA H200"), known("00000000:00:00.0")],
    [1, "GPU-00000002-0000-0000-0000-000000000000", known("NVIDIA H200"), known("00000000:01:00.0")],
  ]);
});

test("redactSnapshot() gives the job of a rank one stand-in in its field and in sentences, and keeps its numbers", () => {
  const variables = { TORCHELASTIC_RUN_ID: "falcon-2", MASTER_PORT: "29500", RANK: "3", LOCAL_RANK: "3" };
  const [holder] = redactProcesses([{ pid: 5, touch: "context", environment: variables }]);
  assert.deepEqual(holder?.job, { launcher: "torchrun", firstPid: pid(5), name: "job-1", rank: 3 });
  assert.equal(holder?.evidence[0], "was started as a rank (TORCHELASTIC_RUN_ID=job-1, LOCAL_RANK=3)");
});

test("redactSnapshot() keeps what it says of saved texts: its own words, days and times, nvidia-smi's refusals", () => {
  const sentences = [
    "2026-07-14 09:00:44.742 in a time zone that the text does not name",
    "The outputs in the text differ about memory in use: they are of several moments, or of several machines",
    "1551MiB in one, 20 MiB in another, on GPU 0-15",
    "a list of open files shows it with /dev/nvidia0 (open)",
    "Failed to initialize NVML: Unknown Error",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
    "Cannot tell what some columns are: the text has no header; run the query again without noheader",
  ];
  const snapshot = attribute(observe({ processes: [] }));
  const problems = sentences.map((message) => ({ subject: "text", reason: absent("not-reported"), message }));
  assert.deepEqual(redactSnapshot({ ...snapshot, problems }).problems, problems);
});
