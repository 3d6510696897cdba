/** Jobs that leave their GPUs, one for every cause and form of it, as `gpuctl sim hold` plays them. */
import { gpuUuid } from "../../lib/core/ids.ts";
import { fakeUuid, migUuid } from "../../lib/source/sim/server.ts";
import type { ViolationReport } from "./isolation_report.ts";

const MEBIBYTE = 1024 ** 2;
const CONTEXT = 518 * MEBIBYTE;
/** A context with what `sim hold` allocates unless told. */
const WORKING = CONTEXT + 1024 * MEBIBYTE;
/** A context with the tensor of a rank that touched the default device. */
const ASTRAY = 612 * MEBIBYTE;

/** The UUID of a GPU of a simulated server. */
export const uuid = (index: number) => gpuUuid(`GPU-${fakeUuid(index, 0)}`);
/** Faults: GPU 3 in two MIG devices. */
export const DIVIDED = [1, 2].map((instance) =>
  `[[gpu.3.mig]]\ngpu-instance = ${instance}\nprofile = "1g.18gb"\nmemory = "16GiB"\n`
).join("");
/** The UUIDs of these two. */
export const [MIG_A, MIG_B] = [migUuid(3, 0), migUuid(3, 1)];
/** Faults: a card that CUDA counts first, though its place on the bus is the second. */
export const MIXED =
  'cuda-order = [1, 0, 2, 3, 4, 5, 6, 7]\n[gpu.1]\nname = "NVIDIA RTX 6000 Ada Generation"\n';

const startWith = (...devices: readonly string[]) =>
  `Start the job with CUDA_VISIBLE_DEVICES=${devices.join(",")}`;
/** The advice where a job was given GPU 5. */
export const FIVE = startWith(uuid(5));
const TAKE_OUT = "Take the assignment out of the program, and leave the variable to whoever starts it";
const RANKS_APART = "Give each rank its own CUDA_VISIBLE_DEVICES, or init_process_group its device_id";
const SET_DEVICE =
  "Call torch.cuda.set_device(local_rank) before anything else of CUDA, load checkpoints with map_location, and " +
  "give init_process_group its device_id; or give each rank its own CUDA_VISIBLE_DEVICES";

/** A violation but for whose it is: that of the process that said `ready` unless a rank of several is named. */
export type Expected = Omit<ViolationReport, "pid"> & { readonly rank?: number };

/** A job that leaves its GPUs, and what has to be said of it. */
export interface BrokenJob {
  readonly faults?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the job was given: GPU 5 unless told. */
  readonly given?: string;
  /** Words of `sim hold`. */
  readonly words?: readonly string[];
  readonly lint?: string;
  /** What stands before the job's command. */
  readonly enter?: readonly string[];
  /** `pids` are the ranks, where there are any. */
  readonly expected: readonly Expected[] | ((pids: readonly number[]) => readonly Expected[]);
}

/** One context of a process that works on one GPU. */
export const lone = (
  index: number,
  told: Pick<Expected, "cause" | "explanation" | "fix">,
): readonly Expected[] => [
  { index, contextBytes: WORKING, ...told },
];

/** The jobs by their causes. Their server has eight GPUs. */
export const BROKEN: Readonly<Record<string, BrokenJob>> = {
  "variable-missing": {
    words: ["--gpu", "2"],
    expected: lone(2, {
      cause: "variable-missing",
      explanation:
        "CUDA_VISIBLE_DEVICES was not set when the process started, so CUDA showed it every GPU. If the program sets " +
        "it by itself, it does so too late",
      fix: `${FIVE}; gpuctl verify-isolation --lint finds where a program sets it too late`,
    }),
  },
  "variable-missing, on a GPU divided by MIG": {
    faults: DIVIDED,
    given: MIG_B,
    words: ["--gpu", "3"],
    expected: lone(3, {
      cause: "variable-missing",
      explanation:
        "CUDA_VISIBLE_DEVICES was not set when the process started, so CUDA showed it every GPU. If the program sets " +
        "it by itself, it does so too late",
      fix: `${startWith(MIG_B)}; gpuctl verify-isolation --lint finds where a program sets it too late`,
    }),
  },
  "set-too-late": {
    words: ["--gpu", "5", "--late-variable"],
    lint: 'import os, torch\ntorch.cuda.init()\nos.environ["CUDA_VISIBLE_DEVICES"] = "5"\n',
    expected: lone(0, {
      cause: "set-too-late",
      explanation:
        "CUDA_VISIBLE_DEVICES was not set when the process started, and train.py:3 sets it too late for CUDA",
      fix:
        `${FIVE}, or: Set it before line 2, or start the program so: CUDA_VISIBLE_DEVICES=5 python train.py`,
    }),
  },
  "variable-names-it": {
    env: { CUDA_VISIBLE_DEVICES: "3" },
    expected: lone(3, {
      cause: "variable-names-it",
      explanation: 'CUDA_VISIBLE_DEVICES="3" names this GPU, which is not one that the job was given',
      fix: FIVE,
    }),
  },
  "variable-names-it, by number where the models differ": {
    faults: MIXED,
    env: { CUDA_VISIBLE_DEVICES: "3" },
    expected: lone(3, {
      cause: "variable-names-it",
      explanation: 'CUDA_VISIBLE_DEVICES="3" names this GPU, which is not one that the job was given',
      fix: FIVE,
    }),
  },
  "variable-names-it, a MIG device": {
    faults: DIVIDED,
    given: MIG_B,
    env: { CUDA_VISIBLE_DEVICES: MIG_A },
    expected: lone(3, {
      cause: "variable-names-it",
      explanation:
        `CUDA_VISIBLE_DEVICES="${MIG_A}" names this MIG device, which is not one that the job was given`,
      fix: startWith(MIG_B),
    }),
  },
  "list-cut-short, by a GPU that there is not": {
    env: { CUDA_VISIBLE_DEVICES: "2,9,5" },
    expected: lone(2, {
      cause: "list-cut-short",
      explanation:
        'CUDA reads CUDA_VISIBLE_DEVICES="2,9,5" only up to "9", and so never came to the GPU that was meant. "2" names ' +
        'GPU 2. The list ends at "9", and what follows is not read: this machine has 8 GPUs, counted from 0. The ' +
        "process gets GPU 2 as its device 0",
      fix: FIVE,
    }),
  },
  "list-cut-short, by a UUID among numbers": {
    env: { CUDA_VISIBLE_DEVICES: "2,GPU-51300005" },
    expected: lone(2, {
      cause: "list-cut-short",
      explanation:
        'CUDA reads CUDA_VISIBLE_DEVICES="2,GPU-51300005" only up to "GPU-51300005", and so never came to the GPU that ' +
        'was meant. "2" names GPU 2. The list ends at "GPU-51300005", and what follows is not read: numbers and UUIDs ' +
        "do not mix, and the first entry decides. The process gets GPU 2 as its device 0",
      fix: FIVE,
    }),
  },
  "list-cut-short, by a second MIG device": {
    faults: DIVIDED,
    given: MIG_B,
    env: { CUDA_VISIBLE_DEVICES: `${MIG_A},${MIG_B}` },
    expected: lone(3, {
      cause: "list-cut-short",
      explanation:
        `CUDA reads CUDA_VISIBLE_DEVICES="${
          `${MIG_A},${MIG_B}`.slice(0, 59)
        }…" only up to "${MIG_B}", and so never came ` +
        `to the GPU that was meant. "${MIG_A}" names ${MIG_A} on GPU 3. The list ends at "${MIG_B}", and what follows ` +
        `is not read: a process gets one MIG device. The process gets ${MIG_A} on GPU 3 as its device 0`,
      fix: startWith(MIG_B),
    }),
  },
  "value-ignored": {
    env: { CUDA_VISIBLE_DEVICES: `5${" ".repeat(2624)}` },
    expected: lone(0, {
      cause: "value-ignored",
      explanation: "CUDA_VISIBLE_DEVICES is longer than CUDA reads, so CUDA ignored it and showed every GPU",
      fix: FIVE,
    }),
  },
  "index-order": {
    faults: MIXED,
    given: "1",
    env: { CUDA_VISIBLE_DEVICES: "1" },
    expected: lone(0, {
      cause: "index-order",
      explanation:
        'CUDA_VISIBLE_DEVICES="1" names GPUs by number, and CUDA_DEVICE_ORDER is not PCI_BUS_ID: with other models ' +
        "beside each other CUDA counts from the fastest, nvidia-smi from the lowest bus address",
      fix: `${startWith(uuid(1))}, or set CUDA_DEVICE_ORDER=PCI_BUS_ID too`,
    }),
  },
  "changed-inside": {
    env: { CUDA_VISIBLE_DEVICES: "5" },
    words: ["--set-visible-devices", "2"],
    expected: lone(2, {
      cause: "changed-inside",
      explanation:
        'When the process started CUDA_VISIBLE_DEVICES="5" did not show this GPU; its program has set the variable ' +
        "anew before CUDA started",
      fix: TAKE_OUT,
    }),
  },
  "changed-inside, to another MIG device": {
    faults: DIVIDED,
    given: MIG_B,
    env: { CUDA_VISIBLE_DEVICES: MIG_B },
    words: ["--set-visible-devices", MIG_A],
    expected: lone(3, {
      cause: "changed-inside",
      explanation:
        `When the process started CUDA_VISIBLE_DEVICES="${MIG_B}" did not show this MIG device; its program has set ` +
        "the variable anew before CUDA started",
      fix: TAKE_OUT,
    }),
  },
  "changed-inside, from nothing": {
    words: ["--set-visible-devices", "2"],
    lint: 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "2"\nimport torch\n',
    expected: lone(2, {
      cause: "changed-inside",
      explanation:
        "CUDA_VISIBLE_DEVICES was not set when the process started, and yet some GPUs are hidden from it: its program " +
        "has set the variable before CUDA started",
      fix: `Take the assignment out of the program. ${FIVE}`,
    }),
  },
  "environment-unknown": {
    env: { CUDA_VISIBLE_DEVICES: "2" },
    words: ["--erase-environment"],
    expected: lone(2, {
      cause: "environment-unknown",
      explanation:
        "The process has overwritten its environment, as setproctitle does, so whether CUDA_VISIBLE_DEVICES was set is " +
        "unknown",
      fix: FIVE,
    }),
  },
  mps: {
    faults: "[gpu.2]\nmps = true\n",
    env: { CUDA_VISIBLE_DEVICES: "2" },
    expected: lone(2, {
      cause: "mps",
      explanation: "The process is a client of an MPS server; what it sees is what that server was given",
      fix: `Start the MPS control daemon with CUDA_VISIBLE_DEVICES=${uuid(5)}, or the job without MPS`,
    }),
  },
  "default-device": {
    given: "0-7",
    words: ["--ranks", "8", "--stray-context"],
    expected: [1, 2, 3, 4, 5, 6, 7].map((rank) => ({
      rank,
      index: 0,
      contextBytes: ASTRAY,
      cause: "default-device",
      explanation:
        `Local rank ${rank} works on another GPU and has a context on the first one too: something in it used CUDA's ` +
        "default device before its own was chosen",
      fix: SET_DEVICE,
    })),
  },
  "collective, on the first GPU as on any other": {
    given: "4,5",
    env: { CUDA_VISIBLE_DEVICES: "3,4,5" },
    words: ["--ranks", "3", "--peer-contexts"],
    expected: (pids) => [
      {
        rank: 0,
        index: 3,
        contextBytes: WORKING,
        cause: "variable-names-it",
        explanation: 'CUDA_VISIBLE_DEVICES="3,4,5" names this GPU, which is not one that the job was given',
        fix: startWith(uuid(4), uuid(5)),
      },
      ...[1, 2].map((rank) => ({
        rank,
        index: 3,
        contextBytes: CONTEXT,
        cause: "collective",
        explanation:
          `Local rank ${rank} works on another GPU and has a context on that of PID ${
            pids[0]
          }, as NCCL and peer access ` +
          "may need one where ranks see each other's GPUs",
        fix: RANKS_APART,
      })),
    ],
  },
  "collective, of rank 0 too": {
    given: "3,4",
    env: { CUDA_VISIBLE_DEVICES: "3,4,5" },
    words: ["--ranks", "3", "--peer-contexts"],
    expected: (pids) => [
      ...[0, 1].map((rank) => ({
        rank,
        index: 5,
        contextBytes: CONTEXT,
        cause: "collective",
        explanation:
          `Local rank ${rank} works on another GPU and has a context on that of PID ${
            pids[2]
          }, as NCCL and peer access ` +
          "may need one where ranks see each other's GPUs",
        fix: RANKS_APART,
      })),
      {
        rank: 2,
        index: 5,
        contextBytes: WORKING,
        cause: "variable-names-it",
        explanation: 'CUDA_VISIBLE_DEVICES="3,4,5" names this GPU, which is not one that the job was given',
        fix: startWith(uuid(3), uuid(4)),
      },
    ],
  },
};
