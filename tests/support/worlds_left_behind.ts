/** Machines on which something was left behind. The five scenes with a dead or half-dead process are as measured. */
import { pid } from "../../lib/core/ids.ts";
import type { Snapshot } from "../../lib/model/snapshot.ts";
import {
  account,
  context,
  device,
  endSafely,
  ghost,
  holder,
  listed,
  snapshot,
  TRAIN_ARGV,
} from "./scene_parts.ts";

const INHERITED = [
  "has GPU 0 mapped and no context of its own there",
  "has the driver's descriptors and never started the driver itself: they are inherited",
] as const;

/** A parent with a context forked and was killed; its child keeps everything. */
const forkedChild = snapshot([account(0, listed(context(794, 2566)))], {
  holders: [holder(812, {
    class: "inherited",
    argv: TRAIN_ARGV,
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

const TORCHRUN = { launcher: "torchrun", firstPid: pid(701), name: "127.0.0.1:29500" } as const;

/** Two ranks whose agent was killed, the second with a loader worker, beside a rank of a job at work. */
const orphanedRanks = snapshot([
  account(0, listed(context(701, 1542))),
  account(1, listed(context(702, 1030), context(820, 600))),
], {
  holders: [
    ...[701, 702].map((number, rank) =>
      holder(number, {
        class: "orphan",
        argv: TRAIN_ARGV,
        parent: 1,
        devices: [device(rank, "used", rank === 0 ? 1542 : 1030)],
        evidence: [
          `was started as a rank (TORCHELASTIC_RUN_ID=none, LOCAL_RANK=${rank})`,
          "its torchrun agent has ended: its parent is now PID 1 (systemd)",
        ],
        advice: endSafely(number),
      }, { job: { ...TORCHRUN, rank } })
    ),
    holder(750, {
      class: "orphan",
      argv: TRAIN_ARGV,
      parent: 702,
      threads: 2,
      devices: [device(1, "inherited")],
      evidence: [
        "was started as a rank (TORCHELASTIC_RUN_ID=none, LOCAL_RANK=1)",
        "it descends from PID 702, a torchrun rank whose own owner has ended",
      ],
      advice: endSafely(750),
    }, { job: { ...TORCHRUN, rank: 1 } }),
    holder(820, { class: "live", argv: TRAIN_ARGV, devices: [device(1, "used", 600)] }, {
      job: { launcher: "torchrun", firstPid: pid(820), name: "llm", rank: 3 },
    }),
  ],
});

/** Loader workers whose main process was killed: they hold everything and leave by themselves after 5 to 6 s. */
const dataloaderOrphans = snapshot([account(0, listed(context(1200, 4118)))], {
  holders: [1211, 1212, 1213, 1214].map((number) =>
    holder(number, {
      class: "inherited",
      argv: TRAIN_ARGV,
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
      "memory that its owner shared with it (CUDA IPC) would count as its own now",
    ],
    advice: endSafely(1302),
  })],
});

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
    argv: TRAIN_ARGV,
    parent: 1,
    devices: [device(0, "inherited"), device(1, "inherited")],
    evidence: ["PID 2154 is dead and still listed with memory on GPU 0-1", ...INHERITED],
    advice: endSafely(2160),
  })],
  ghosts: [0, 1].map((index) =>
    ghost(2154, index, 1542, [{
      pid: pid(2160),
      reasons: [`has GPU ${index} mapped and no context of its own there`, INHERITED[1]],
    }])
  ),
};

/** Each by the name of its scene. */
export const LEFT_BEHIND = {
  "forked-child": forkedChild,
  "zombie-leader": zombieLeader,
  "spawn-orphans": spawnOrphans,
  "orphaned-ranks": orphanedRanks,
  "dataloader-orphans": dataloaderOrphans,
  "ipc-importer": ipcImporter,
  "ghost-of-nobody": ghostOfNobody,
  "ghost-on-two": ghostOnTwo,
} as const satisfies Record<string, Snapshot>;
