/** A busy machine: eight GPUs and forty holders of every kind. */
import { pid } from "../../lib/core/ids.ts";
import { known } from "../../lib/core/reading.ts";
import { percent } from "../../lib/core/units.ts";
import { contextsOf } from "../../lib/model/gpu.ts";
import type { Holder, HolderJob, Snapshot } from "../../lib/model/snapshot.ts";
import { account, context, device, endSafely, holder, listed, snapshot } from "./scene_parts.ts";

const INDEXES = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const TORCHRUN = [
  "/opt/conda/bin/python",
  "-u",
  "train.py",
  "--config",
  "configs/llm_70b.yaml",
  "--resume",
] as const;

function jobOf(rank: number): HolderJob {
  return { launcher: "torchrun", firstPid: pid(5000), name: "node7:29400", rank };
}

/** A rank on each GPU with three loader workers, as torchrun and PyTorch make them. */
const ranks: readonly Holder[] = INDEXES.flatMap((index) => [
  holder(5000 + index, {
    class: "live",
    argv: [...TORCHRUN, `--local-rank=${index}`],
    state: "R",
    threads: 214,
    cgroup: "/system.slice/slurmstepd.scope/job_4711/step_0",
    devices: [
      device(index, "used", 91_352),
      ...INDEXES.filter((other) => other !== index).map((other) => device(other, "watched")),
    ],
    evidence: ["belongs to Slurm job 4711, whose slurmstepd lives (PID 4980)"],
  }, { job: jobOf(index) }),
  ...[1, 2, 3].map((worker) =>
    holder(5000 + 10 * worker + index, {
      class: "live",
      argv: [...TORCHRUN, `--local-rank=${index}`],
      threads: 2,
      parent: 5000 + index,
      cgroup: "/system.slice/slurmstepd.scope/job_4711/step_0",
      devices: [device(index, "inherited")],
      evidence: [`is a part of the job of PID ${5000 + index}, which lives`],
    }, { job: jobOf(index) })
  ),
]);

const EVERYWHERE = INDEXES.map((index) => device(index, "watched"));

const machine: readonly Holder[] = [
  holder(1180, {
    class: "service",
    user: "root",
    argv: ["/usr/bin/nvidia-persistenced", "--verbose"],
    parent: 1,
    devices: EVERYWHERE,
    evidence: ["is the driver's persistence daemon"],
    advice: "Leave it alone. To stop it: systemctl stop nvidia-persistenced.service",
  }),
  holder(1344, {
    class: "monitor",
    user: "root",
    argv: ["/usr/bin/nv-hostengine", "-n", "--service-account", "nvidia-dcgm"],
    parent: 1,
    devices: EVERYWHERE,
    evidence: ["has the device open and nothing mapped: it watches, it holds no memory"],
    advice: "Leave it alone. It blocks a reset of the GPU.",
  }),
  holder(7100, {
    class: "detached",
    user: "bob",
    argv: [
      "python",
      "-m",
      "ipykernel_launcher",
      "-f",
      "/home/bob/.local/share/jupyter/runtime/kernel-5d1e.json",
    ],
    parent: 7001,
    devices: [device(7, "used", 3120)],
    evidence: ["runs under tmux: server (PID 7001)"],
    advice: "Ask its owner.",
  }),
  holder(7300, {
    class: "foreign",
    user: "root",
    argv: ["/app/server", "--port", "8080"],
    devices: [device(6, "used", 10_240)],
    evidence: ["lives in container 4f1c2a9be011 (docker)"],
    advice: "Stop the container, or name it: gpuctl clean-zombies --container 4f1c2a9be011",
  }),
  holder(7400, {
    class: "stopped",
    user: "bob",
    argv: ["python", "debug.py"],
    state: "T",
    devices: [device(5, "used", 2054)],
    evidence: ["is suspended (state T): it cannot act on SIGTERM until continued"],
    advice: "Continue it (kill -CONT 7400) or ask its owner.",
  }),
  ...[7501, 7502].map((number, place) =>
    holder(number, {
      class: "orphan",
      user: "bob",
      argv: ["VLLM::EngineCore"],
      parent: 1,
      devices: [device(3 + place, "used", 38_912)],
      evidence: ["is a worker of vLLM, and the server that started it is gone"],
      advice: endSafely(number),
    })
  ),
  holder(7600, {
    class: "job-leftover",
    argv: ["python", "sweep.py", "--trial", "12"],
    parent: 1,
    devices: [device(2, "used", 20_480)],
    evidence: ["belongs to Slurm job 4690, and no slurmstepd of that job lives"],
    advice: endSafely(7600),
  }),
];

const holders = [...ranks, ...machine];

/** Eight GPUs, forty holders: a job at work, services, a notebook, a container, and what was left behind. */
export const EIGHT_GPUS: Snapshot = snapshot(
  INDEXES.map((index) => {
    const list = listed(
      ...holders.flatMap(({ pid, devices }) =>
        devices.flatMap(({ gpu, contextBytes }) =>
          gpu === device(index, "used").gpu && contextBytes.ok && contextBytes.value > 0
            ? [context(pid, contextBytes.value / 1024 ** 2)]
            : []
        )
      ),
    );
    const used = contextsOf(list).reduce((sum, { used }) => sum + (used.ok ? used.value / 1024 ** 2 : 0), 0);
    return account(index, list, {
      usedMib: used + (index === 6 ? 312 : 0),
      utilization: known(percent(99 - index)),
      ...index === 6 && { cause: "processes that see this GPU without using it cost about 3 MiB each" },
    });
  }),
  { holders },
);
