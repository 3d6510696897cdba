import { test } from "node:test";
import assert from "node:assert/strict";
import { judgeIsolation } from "../../../lib/analysis/isolation.ts";
import { lintPython } from "../../../lib/analysis/lint/lint_python.ts";
import { type CaseSpec, type ContextSpec, isolationCase, type ProcessSpec } from "./isolation_case.ts";
import { A, B } from "./visible_devices_machine.ts";

const START = `Start the job with CUDA_VISIBLE_DEVICES=${B}`;
const SET_DEVICE =
  "Call torch.cuda.set_device(local_rank) before anything else of CUDA, load checkpoints with map_location, " +
  "and give init_process_group its device_id; or give each rank its own CUDA_VISIBLE_DEVICES";

interface StraySpec extends Omit<ProcessSpec, "pid"> {
  readonly own?: number;
  readonly kind?: ContextSpec["kind"];
  readonly names?: readonly [string, string];
  readonly lint?: CaseSpec["lint"];
}

/** A process of the job, which may use GPU 1, with 612 MiB on GPU 0 and `own` MiB on GPU 1: what is said of it. */
function explain(
  { own = 774, kind = "compute", names = ["H200", "H200"], lint = [], ...process }: StraySpec,
) {
  const look = [
    { contexts: [{ pid: 11, mib: 612, kind }], name: names[0] },
    { contexts: own > 0 ? [{ pid: 11, mib: own }] : [], name: names[1] },
  ];
  const { violations } = judgeIsolation(
    isolationCase({ looks: [look], processes: [{ pid: 11, ...process }], lint }),
  );
  assert.equal(violations.length, 1);
  return violations.map(({ cause, explanation, fix }) => ({ cause, explanation, fix }))[0];
}

test("judgeIsolation() finds the rank that touched the first GPU before its own", () => {
  assert.deepEqual(explain({ environment: { LOCAL_RANK: "1", RANK: "9" } }), {
    cause: "default-device",
    explanation:
      "Local rank 1 works on another GPU and has a context on the first one too: something in it used CUDA's " +
      "default device before its own was chosen",
    fix: SET_DEVICE,
  });
  for (const name of ["SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK"]) {
    assert.equal(explain({ environment: { [name]: "1" } })?.cause, "default-device");
  }
  assert.equal(
    explain({ environment: { LOCAL_RANK: "1", CUDA_VISIBLE_DEVICES: "0,1" } })?.cause,
    "default-device",
  );
});

test("judgeIsolation() takes no rank for one that touched the first GPU by mistake if it works there", () => {
  assert.equal(explain({ environment: { LOCAL_RANK: "0" } })?.cause, "variable-missing");
  assert.equal(explain({ environment: { RANK: "1" } })?.cause, "variable-missing");
  assert.equal(explain({ environment: { LOCAL_RANK: "1" }, own: 100 })?.cause, "variable-missing");
  assert.equal(explain({ environment: { LOCAL_RANK: "x" } })?.cause, "variable-missing");
});

test("judgeIsolation() finds ranks on GPU 0 also where the job may use every GPU, and sums them up", () => {
  const ranks = [12, 13, 14];
  const look = [
    { contexts: [{ pid: 11, mib: 26_167 }, ...ranks.map((pid) => ({ pid, mib: 871 }))] },
    { contexts: ranks.map((pid) => ({ pid, mib: 20_000 })) },
  ];
  const judged = judgeIsolation(isolationCase({
    allowed: [{ gpu: A }, { gpu: B }],
    looks: [look],
    processes: [11, ...ranks].map((pid, rank) => ({ pid, environment: { LOCAL_RANK: String(rank) } })),
  }));
  assert.equal(judged.verdict, "violated");
  assert.deepEqual(judged.violations.map(({ pid, index, cause }) => [pid, index, cause]), [
    [12, 0, "default-device"],
    [13, 0, "default-device"],
    [14, 0, "default-device"],
  ]);
  assert.equal(judged.notes[0], "3 ranks other than 0 have a context on GPU 0: 871 MiB each, 2.6 GiB in all");
});

test("judgeIsolation() leaves a job alone that spreads over its own GPUs without ranks", () => {
  const look = [{ contexts: [{ pid: 11, mib: 552 }] }, { contexts: [{ pid: 11, mib: 9000 }] }];
  const judged = judgeIsolation(
    isolationCase({ allowed: [{ gpu: A }, { gpu: B }], looks: [look], processes: [{ pid: 11 }] }),
  );
  assert.equal(judged.verdict, "isolated");
});

test("judgeIsolation() finds a rank on the GPU of another rank", () => {
  const look = [
    { contexts: [{ pid: 12, mib: 2000 }] },
    { contexts: [{ pid: 11, mib: 2000 }, { pid: 12, mib: 400 }] },
  ];
  const judged = judgeIsolation(isolationCase({
    allowed: [{ gpu: A }],
    looks: [look],
    processes: [{ pid: 11, environment: { LOCAL_RANK: "0" } }, { pid: 12, environment: { LOCAL_RANK: "1" } }],
  }));
  assert.deepEqual(judged.violations.map(({ pid, cause, explanation }) => ({ pid, cause, explanation }))[1], {
    pid: 12,
    cause: "collective",
    explanation:
      "Local rank 1 works on another GPU and has a context on that of PID 11, as NCCL and peer access may need " +
      "one where ranks see each other's GPUs",
  });
});

test("judgeIsolation() says that a wiped environment is unknown, and not unset", () => {
  assert.deepEqual(explain({ environment: "erased" }), {
    cause: "environment-unknown",
    explanation:
      "The process has overwritten its environment, as setproctitle does, so whether CUDA_VISIBLE_DEVICES was " +
      "set is unknown",
    fix: START,
  });
  assert.equal(
    explain({ environment: "no-permission" })?.explanation,
    "The environment of the process could not be read, so whether CUDA_VISIBLE_DEVICES was set is unknown: no permission",
  );
  const gone = judgeIsolation(isolationCase({ looks: [[{ contexts: [{ pid: 11 }] }, {}]] }));
  assert.deepEqual(
    gone.violations.map(({ command, cause, explanation }) => ({ command, cause, explanation })),
    [{
      command: "?",
      cause: "environment-unknown",
      explanation:
        "The process was gone before its environment could be read, so whether CUDA_VISIBLE_DEVICES was set is unknown",
    }],
  );
});

test("judgeIsolation() says that the variable was missing, or where the program sets it too late", () => {
  assert.equal(explain({ environment: {} })?.cause, "variable-missing");
  const source = 'import os, torch\ntorch.cuda.init()\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n';
  assert.deepEqual(explain({ environment: {}, own: 0, lint: lintPython(new Map([["train.py", source]])) }), {
    cause: "set-too-late",
    explanation:
      "CUDA_VISIBLE_DEVICES was not set when the process started, and train.py:3 sets it too late for CUDA",
    fix:
      `${START}, or: Set it before line 2, or start the program so: CUDA_VISIBLE_DEVICES=1 python train.py`,
  });
});

test("judgeIsolation() says that the variable names the GPU, or ends before the one that was meant", () => {
  assert.deepEqual(explain({ environment: { CUDA_VISIBLE_DEVICES: "0,1" } }), {
    cause: "variable-names-it",
    explanation: 'CUDA_VISIBLE_DEVICES="0,1" names this GPU, which is not one that the job was given',
    fix: START,
  });
  assert.deepEqual(explain({ own: 0, environment: { CUDA_VISIBLE_DEVICES: `0,${B}` } }), {
    cause: "list-cut-short",
    explanation:
      `CUDA reads CUDA_VISIBLE_DEVICES="0,${B}" only up to "${B}", and so never came to the GPU that was meant. ` +
      `"0" names GPU 0. The list ends at "${B}", and what follows is not read: numbers and UUIDs do not mix, and ` +
      "the first entry decides. The process gets GPU 0 as its device 0",
    fix: START,
  });
  assert.equal(
    explain({ environment: { CUDA_VISIBLE_DEVICES: `1,${"7".repeat(3000)}` } })?.cause,
    "value-ignored",
  );
});

test("judgeIsolation() says that the program changed a variable that did not name the GPU", () => {
  const changed = "did not show this GPU; its program has set the variable anew";
  assert.deepEqual(explain({ environment: { CUDA_VISIBLE_DEVICES: "1" } }), {
    cause: "changed-inside",
    explanation: `When the process started CUDA_VISIBLE_DEVICES="1" ${changed} before CUDA started`,
    fix: "Take the assignment out of the program, and leave the variable to whoever starts it",
  });
  assert.equal(explain({ environment: { CUDA_VISIBLE_DEVICES: "1,1" } })?.cause, "changed-inside");
  const lint = lintPython(
    new Map([["a.py", 'import torch, os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n']]),
  );
  assert.equal(
    explain({ environment: { CUDA_VISIBLE_DEVICES: "1" }, lint })?.explanation,
    `When the process started CUDA_VISIBLE_DEVICES="1" ${changed} (a.py:2) before CUDA started`,
  );
});

test("judgeIsolation() finds numbers that mean other GPUs, on mixed models and in containers", () => {
  const names = ["RTX 3090", "T400"] as const;
  const environment = { CUDA_VISIBLE_DEVICES: "1" };
  assert.deepEqual(explain({ environment, names, own: 0 }), {
    cause: "index-order",
    explanation:
      'CUDA_VISIBLE_DEVICES="1" names GPUs by number, and CUDA_DEVICE_ORDER is not PCI_BUS_ID: with other models ' +
      "beside each other CUDA counts from the fastest, nvidia-smi from the lowest bus address",
    fix: `${START}, or set CUDA_DEVICE_ORDER=PCI_BUS_ID too`,
  });
  const inOrder = { ...environment, CUDA_DEVICE_ORDER: "PCI_BUS_ID" };
  assert.equal(explain({ environment: inOrder, names, own: 0 })?.cause, "changed-inside");
  assert.deepEqual(explain({ environment: { CUDA_VISIBLE_DEVICES: "0" }, container: true }), {
    cause: "container",
    explanation:
      'CUDA_VISIBLE_DEVICES="0" counts the GPUs of the container, which need not be those of the host',
    fix: `${START}: UUIDs mean the same everywhere`,
  });
});

test("judgeIsolation() says that a container was given more than it should", () => {
  const fix = `Give it only the job's GPUs: docker run --gpus '"device=${B}"'`;
  const given = (value: string) =>
    explain({ environment: { NVIDIA_VISIBLE_DEVICES: value }, container: true });
  assert.deepEqual(given("all"), {
    cause: "container",
    explanation: 'The container was given every GPU: NVIDIA_VISIBLE_DEVICES="all"',
    fix,
  });
  assert.deepEqual(given("0,1"), {
    cause: "container",
    explanation: 'The container was given this GPU: NVIDIA_VISIBLE_DEVICES="0,1"',
    fix,
  });
  assert.equal(explain({ environment: { NVIDIA_VISIBLE_DEVICES: "all" } })?.cause, "variable-missing");
});

test("judgeIsolation() says that a container has a GPU past what its runtime was asked for", () => {
  const past =
    "and the container has this GPU all the same: --privileged, --device, a CDI device or a mounted " +
    "/dev gives it past that list";
  const explanations = ["1", "void", "none", "nvidia.com/gpu=1", "\u001b[2J,9"].map((value) =>
    explain({ environment: { NVIDIA_VISIBLE_DEVICES: value }, container: true })?.explanation
  );
  assert.deepEqual(explanations, [
    `The container runtime was asked for GPU 1 (NVIDIA_VISIBLE_DEVICES="1"), ${past}`,
    `The container runtime was asked for no GPU (NVIDIA_VISIBLE_DEVICES="void"), ${past}`,
    `The container runtime was asked for the driver's libraries alone (NVIDIA_VISIBLE_DEVICES="none"), ${past}`,
    `What the container runtime was asked for does not stand in NVIDIA_VISIBLE_DEVICES="nvidia.com/gpu=1", ${past}`,
    `The container runtime was asked for no GPU (NVIDIA_VISIBLE_DEVICES="\\u{1b}[2J,9"), ${past}`,
  ]);
  assert.deepEqual(explain({ container: true }), {
    cause: "container",
    explanation: `The container runtime was asked for no GPU, as NVIDIA_VISIBLE_DEVICES is not set, ${past}`,
    fix: `Give it only the job's GPUs: docker run --gpus '"device=${B}"', without --privileged and --device`,
  });
});

test("judgeIsolation() knows a client of MPS", () => {
  assert.deepEqual(explain({ environment: { CUDA_VISIBLE_DEVICES: B }, kind: "mps-client" }), {
    cause: "mps",
    explanation: "The process is a client of an MPS server; what it sees is what that server was given",
    fix: `Start the MPS control daemon with CUDA_VISIBLE_DEVICES=${B}, or the job without MPS`,
  });
});
