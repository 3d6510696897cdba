/** Machines of which not everything can be seen. */
import { gpuIndex } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import type { Holder, Snapshot } from "../../lib/model/snapshot.ts";
import {
  account,
  context,
  device,
  holder,
  listed,
  mib,
  problem,
  sceneUuid,
  snapshot,
  TRAIN_ARGV,
  unlisted,
} from "./scene_parts.ts";

const NO_ANSWER = absent("timed-out", "nvmlInit_v2, 5 s");

/** The driver does not answer. What /proc and sysfs know is left. */
const hangingDriver = snapshot(
  [0, 1].map((index) =>
    account(index, unlisted(NO_ANSWER), {
      memoryUsed: NO_ANSWER,
      memoryTotal: NO_ANSWER,
      memoryReserved: NO_ANSWER,
      persistenceMode: NO_ANSWER,
      computeMode: NO_ANSWER,
      migMode: NO_ANSWER,
      migInstances: NO_ANSWER,
      recoveryAction: NO_ANSWER,
      displayActive: NO_ANSWER,
      usedIncludesReserve: NO_ANSWER,
    })
  ),
  {
    source: "proc",
    driver: known({ version: known("580.159.04"), libraryVersion: NO_ANSWER, cudaVersion: NO_ANSWER }),
    holders: [
      holder(2001, {
        class: "stuck",
        argv: TRAIN_ARGV,
        state: "D",
        devices: [{ ...device(0, "used"), contextBytes: NO_ANSWER }],
        evidence: ["waits in the driver (nv_drm_gem_fault), state D: no signal reaches it"],
        advice: "Look again in a minute. If it stays, only a reset of the GPU or a reboot ends it.",
      }),
      holder(2050, {
        class: "live",
        argv: ["python", "eval.py"],
        user: "bob",
        devices: [{ ...device(1, "used"), contextBytes: NO_ANSWER }],
      }),
    ],
    problems: [
      problem(
        "driver",
        NO_ANSWER,
        "The driver gave no answer; helper PID 4242 is stuck in it (state D) and no second one is started",
      ),
      ...[0, 1].map((index) =>
        problem(
          `process list of GPU ${index}`,
          NO_ANSWER,
          `The process list of GPU ${index} cannot be read: that is not the same as no process`,
        )
      ),
    ],
  },
);

const FOREIGN = absent("hidden", "PID namespace");

/** Inside a container: memory is in use and nobody can be seen. */
const container = snapshot([account(0, unlisted(FOREIGN), { usedMib: 40_038 })], {
  host: {
    name: known("a5c0de15f00d"),
    bootId: known("5f6a0c1e-7d0b-4a62-9a55-0d7c2f1b3e44"),
    kernel: known("6.18.0"),
  },
  problems: [
    problem(
      "process list of GPU 0",
      FOREIGN,
      "The process list of GPU 0 cannot be read: that is not the same as no process",
    ),
    problem(
      "PID namespace",
      FOREIGN,
      "Only processes of this PID namespace can be seen from here: look from the host, or start the container with the host's PID namespace",
    ),
  ],
});

/** A GPU that has fallen off the bus beside one that asks for a reset and one in order. */
const lostGpu = snapshot([
  account(0, listed()),
  account(1, unlisted(absent("lost")), {
    memoryUsed: absent("lost"),
    memoryTotal: absent("lost"),
    memoryReserved: absent("lost"),
    recoveryAction: absent("lost"),
  }),
  account(2, listed(), { recoveryAction: known("reset") }),
], {
  problems: [
    problem(
      "process list of GPU 1",
      absent("lost"),
      "The process list of GPU 1 cannot be read: that is not the same as no process",
    ),
  ],
});

const NOT_OURS = absent("no-permission", "its descriptors cannot be listed by this user");

/** Looked at without root: what others hold is listed, and the rest of them is not to be seen. */
const notRoot = snapshot([account(0, listed(context(812, 2566), context(4001, 10_240)))], {
  holders: [
    holder(812, { class: "live", argv: TRAIN_ARGV, devices: [device(0, "used", 2566)] }),
    holder(4001, {
      class: "unknown",
      argv: ["python", "job.py"],
      user: "bob",
      devices: [{
        gpu: sceneUuid(0),
        contextBytes: known(mib(10_240)),
        isOpen: NOT_OURS,
        isMapped: NOT_OURS,
      }],
      evidence: ["its use of the driver cannot be read by this user"],
      advice: "Run as root to see more.",
    }),
  ],
  problems: [
    problem(
      "descriptors",
      absent("no-permission", "181 of 320 processes"),
      "The descriptors of 181 of 320 processes cannot be listed: run as root to see who holds a GPU",
    ),
  ],
});

/** No driver at all. */
const noDriver = snapshot([], {
  driver: absent("failed", "libnvidia-ml.so.1: cannot open shared object file"),
  problems: [
    problem(
      "driver",
      absent("failed", "libnvidia-ml.so.1: cannot open shared object file"),
      "The driver gave no answer",
    ),
  ],
});

/** Saved nvidia-smi text: pids and bytes, and an old driver's way of counting. */
const savedText = snapshot([
  account(0, {
    state: "incomplete",
    contexts: [context(48_213, 10_151)],
    reason: absent("no-permission", "1 row without a pid"),
  }, {
    usedMib: 10_766,
    usedIncludesReserve: known(true),
    memoryReserved: absent("not-reported"),
    minor: absent("not-reported"),
  }),
], {
  takenAt: absent("not-reported", "2026-11-30 09:26:33 in a time zone that the text does not name"),
  source: "file",
  host: { name: absent("not-reported"), bootId: absent("not-reported"), kernel: absent("not-reported") },
  holders: [onlyListed(48_213, 10_151)],
  problems: [
    problem(
      "process list of GPU 0",
      absent("no-permission", "1 row without a pid"),
      "The process list of GPU 0 is incomplete",
    ),
  ],
});

function onlyListed(number: number, count: number): Holder {
  const why = absent("not-reported");
  return {
    ...holder(number, { class: "unknown", argv: [], devices: [] }),
    startTicks: why,
    uid: why,
    user: why,
    argv: why,
    name: "python",
    state: why,
    threads: why,
    parentPid: why,
    owner: why,
    evidence: ["a list of contexts says nothing about the process itself"],
    advice: "Look on the machine itself: gpuctl snapshot",
    devices: [{ gpu: sceneUuid(0), contextBytes: known(mib(count)), isOpen: why, isMapped: why }],
  };
}

/** GPUs that the driver still counts: one has fallen off the bus, the other one is kept from this user. */
const unreadableGpus = snapshot([account(0, listed())], {
  unreadableGpus: [
    { index: gpuIndex(1), reason: absent("lost") },
    { index: gpuIndex(2), reason: absent("no-permission", "nvmlDeviceGetHandleByIndex_v2") },
  ],
  problems: [
    problem("GPU 1", absent("lost"), "GPU 1 cannot be read"),
    problem("GPU 2", absent("no-permission", "nvmlDeviceGetHandleByIndex_v2"), "GPU 2 cannot be read"),
  ],
});

/** Each by what is in the way. */
export const HALF_SEEN = {
  "hanging-driver": hangingDriver,
  container,
  "lost-gpu": lostGpu,
  "unreadable-gpus": unreadableGpus,
  "not-root": notRoot,
  "no-driver": noDriver,
  "saved-text": savedText,
} as const satisfies Record<string, Snapshot>;
