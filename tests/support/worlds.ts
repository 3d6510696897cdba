/**
 * Machines as people meet them, as snapshots by name: what a renderer draws and what a fake world looks at. The five
 * scenes with a dead or half-dead process are as measured on an H200 with driver 580.159.04.
 */
import { gpuUuid, pid } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import { bytes, percent } from "../../lib/core/units.ts";
import type { MigInstance } from "../../lib/model/gpu.ts";
import type { Holder, Snapshot } from "../../lib/model/snapshot.ts";
import {
  account,
  context,
  device,
  ghost,
  holder,
  listed,
  mib,
  problem,
  sceneUuid,
  snapshot,
  unlisted,
} from "./scene_parts.ts";
import { EIGHT_GPUS } from "./world_of_eight.ts";

const TRAIN = ["python", "train.py", "--epochs", "90", "--data", "/srv/imagenet"] as const;
const endSafely = (number: number) => `To end it safely: gpuctl clean-zombies --pid ${number}.`;

/** One GPU that nobody uses, and all of it seen. */
const idle = snapshot([account(0, listed())]);

/** One training at work. */
const live = snapshot([account(0, listed(context(812, 42_166)), { utilization: known(percent(97)) })], {
  holders: [holder(812, { class: "live", argv: TRAIN, state: "R", devices: [device(0, "used", 42_166)] })],
});

const INHERITED = [
  "has GPU 0 mapped and no context of its own there",
  "has the driver's descriptors and never started the driver itself: they are inherited",
] as const;

/** A parent with a context forked and was killed; its child keeps everything. */
const forkedChild = snapshot([account(0, listed(context(794, 2566)))], {
  holders: [holder(812, {
    class: "inherited",
    argv: TRAIN,
    parent: 1,
    threads: 1,
    devices: [device(0, "inherited")],
    evidence: ["PID 794 is dead and still listed with memory on GPU 0", ...INHERITED],
    advice: `${endSafely(812)} PyTorch's loader workers leave by themselves within about 6 s.`,
  })],
  ghosts: [
    ghost(794, 0, 2566, [{
      pid: pid(812),
      reasons: [
        ...INHERITED,
        "is in the process group of PID 794",
        "lost its parent: it now belongs to PID 1 (systemd)",
      ],
    }]),
  ],
});

/** The main thread has ended by exit(2); the others hold everything. */
const zombieLeader = snapshot([account(0, listed(context(742, 1542)))], {
  holders: [holder(742, {
    class: "zombie-leader",
    argv: ["python", "serve.py"],
    state: "Z",
    devices: [device(0, "used", 1542)],
    evidence: [
      "its main thread has ended (state Z); 18 other threads live and hold everything",
      "ps shows <defunct>, and fuser and nvidia-smi show nothing",
    ],
    advice: `${endSafely(742)} SIGKILL ends it: a zombie leader is no zombie.`,
  })],
});

const SPAWNED = [
  "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)",
] as const;

/** Spawned workers whose main process was killed. */
const spawnOrphans = snapshot([account(0, listed(context(901, 1542), context(902, 1542)))], {
  holders: [901, 902].map((number) =>
    holder(number, {
      class: "orphan",
      argv: ["/usr/bin/python3", "-c", ...SPAWNED, "--multiprocessing-fork"],
      parent: 1,
      devices: [device(0, "used", 1542)],
      evidence: [
        "is a worker of Python's multiprocessing (spawn), and its pipe to its main process has no other end",
        "its parent is PID 1 (systemd)",
      ],
      advice: endSafely(number),
    })
  ),
});

/** Loader workers whose main process was killed: they hold everything and leave by themselves after 5 to 6 s. */
const dataloaderOrphans = snapshot([account(0, listed(context(1200, 4118)))], {
  holders: [1211, 1212, 1213, 1214].map((number) =>
    holder(number, {
      class: "inherited",
      argv: TRAIN,
      parent: 1,
      threads: 2,
      devices: [device(0, "inherited")],
      evidence: ["PID 1200 is dead and still listed with memory on GPU 0", ...INHERITED],
      advice: `${endSafely(number)} PyTorch's loader workers leave by themselves within about 6 s.`,
    })
  ),
  ghosts: [
    ghost(
      1200,
      0,
      4118,
      [1211, 1212, 1213, 1214].map((number) => ({ pid: pid(number), reasons: [...INHERITED] })),
    ),
  ],
});

/** The importer of CUDA IPC memory outlives the exporter and is charged with its bytes. */
const ipcImporter = snapshot([account(0, listed(context(1302, 3590)))], {
  holders: [holder(1302, {
    class: "orphan",
    argv: ["python", "consumer.py"],
    parent: 1,
    devices: [device(0, "used", 3590)],
    evidence: [
      "is a worker of Python's multiprocessing (spawn), and its pipe to its main process has no other end",
      "memory that its owner shared with it (CUDA IPC) is now counted as its own",
    ],
    advice: endSafely(1302),
  })],
});

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
        argv: TRAIN,
        state: "D",
        devices: [{ ...device(0, "used"), contextBytes: NO_ANSWER }],
        evidence: ["waits in the driver (nv_drm_gem_fault), state D: no signal reaches it"],
        advice:
          "Look again in a minute. If it stays, `gpuctl reset-gpu` says whether a reset or a reboot is needed.",
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

function migInstance(instance: number, usedMib: number): MigInstance {
  return {
    uuid: gpuUuid(`MIG-0000000${instance}-1111-5222-8333-444455556666`),
    gpuInstance: known(instance),
    computeInstance: known(0),
    profile: known("1g.18gb"),
    memoryTotal: known(mib(16_384)),
    memoryUsed: known(mib(usedMib)),
  };
}

/** One GPU cut into MIG devices, one of them in use; another that turns MIG on at its next reset. */
const mig = snapshot([
  account(0, listed(context(3001, 9220, { gpuInstance: 7, computeInstance: 0 })), {
    usedMib: 9250,
    migMode: known({ current: true, pending: true }),
    migInstances: known([migInstance(7, 9235), migInstance(8, 15)]),
  }),
  account(1, listed(), { migMode: known({ current: false, pending: true }) }),
], {
  holders: [
    holder(3001, { class: "live", argv: ["python", "infer.py"], devices: [device(0, "used", 9220)] }),
  ],
});

/** Managed memory, which the driver lists with no process. */
const unattributed = snapshot([
  account(0, listed(context(812, 520)), {
    usedMib: 785,
    cause: "managed memory (cudaMallocManaged) is listed with no process; it can only belong to PID 812",
  }),
], { holders: [holder(812, { class: "live", argv: TRAIN, devices: [device(0, "used", 520)] })] });

/** A dead process listed on two GPUs, and nobody to be seen who keeps it. */
const ghostOfNobody = snapshot([
  account(0, listed(context(2154, 1542))),
  account(1, listed(context(2154, 1542))),
], {
  ghosts: [ghost(2154, 0, 1542, []), ghost(2154, 1, 1542, [])],
});

/** A dead process listed on two GPUs, and one child that keeps both. */
const ghostOnTwo: Snapshot = {
  ...ghostOfNobody,
  holders: [holder(2160, {
    class: "inherited",
    argv: TRAIN,
    parent: 1,
    devices: [device(0, "inherited"), device(1, "inherited")],
    evidence: ["PID 2154 is dead and still listed with memory on GPU 0, 1", ...INHERITED],
    advice: endSafely(2160),
  })],
  ghosts: [0, 1].map((index) =>
    ghost(2154, index, 1542, [{
      pid: pid(2160),
      reasons: [`has GPU ${index} mapped and no context of its own there`, INHERITED[1]],
    }])
  ),
};

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
    holder(812, { class: "live", argv: TRAIN, devices: [device(0, "used", 2566)] }),
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

const ENEMY = "\x1b[2J\x1b]0;owned\x07";

/** A process that calls itself what would clear the screen, end the line and start a formula. */
const hostile = snapshot([account(0, listed(context(666, 518)), { name: known(`NVIDIA ${ENEMY}`) })], {
  holders: [holder(666, {
    class: "orphan",
    user: `eve${ENEMY}`,
    argv: ['=HYPERLINK("http://x")', `a\nPID 1 init\r`, "\u202egpj.exe", "\ud800", "訓練🦊"],
    devices: [device(0, "used", 518)],
    evidence: [`its cgroup has been removed: /${ENEMY}\n/x`],
    advice: endSafely(666),
  }, { name: `=${ENEMY}` })],
  problems: [problem("host", absent("failed", ENEMY), `Cannot read ${ENEMY}`)],
});

/** A simulated server with one job. */
const simulated: Snapshot = { ...live, source: "sim", simulated: true };

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
    devices: [{ gpu: sceneUuid(0), contextBytes: known(bytes(mib(count))), isOpen: why, isMapped: why }],
  };
}

/** Every scene by its name. */
export const WORLDS = {
  idle,
  live,
  "forked-child": forkedChild,
  "zombie-leader": zombieLeader,
  "spawn-orphans": spawnOrphans,
  "dataloader-orphans": dataloaderOrphans,
  "ipc-importer": ipcImporter,
  "eight-gpus": EIGHT_GPUS,
  "hanging-driver": hangingDriver,
  container,
  mig,
  unattributed,
  "ghost-of-nobody": ghostOfNobody,
  "ghost-on-two": ghostOnTwo,
  "lost-gpu": lostGpu,
  "not-root": notRoot,
  hostile,
  simulated,
  "no-driver": noDriver,
  "saved-text": savedText,
} as const satisfies Record<string, Snapshot>;
export type WorldName = keyof typeof WORLDS;
