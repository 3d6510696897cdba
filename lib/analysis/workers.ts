/** Workers that make no sense without the process that started them, and what became of that process. */
import type { ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import { judgeServer } from "./kernels.ts";
import { ancestorsOf } from "./lineage.ts";
import { judgeOwnerByParent, type OwnerFinding, variableOf } from "./owners.ts";
import { judgeLauncher } from "./ranks.ts";
import { findTitle, WORKER_TITLES } from "./titles.ts";

/** What a worker is, and whether its owner lives. */
export interface WorkerFinding {
  readonly kind: string;
  readonly owner: OwnerFinding["state"];
  /** Whose owner that is: the process itself, or the ancestor with which its whole branch has lost its root. */
  readonly root: Process;
  /** One sentence each: how it is told, and what became of its owner. */
  readonly evidence: readonly [string, string];
}

interface WorkerKind {
  readonly kind: string;
  /** Says how a process shows that it is one; `undefined` if it does not. */
  recognise(process: Process): string | undefined;
  judgeOwner(process: Process, scan: ProcessScan): OwnerFinding;
}

/** How each kind of worker is told. First match wins. */
const KINDS: readonly WorkerKind[] = [
  {
    kind: "multiprocessing worker",
    recognise: (process) =>
      argvOf(process).includes("--multiprocessing-fork") &&
        argvOf(process).some((word) => word.startsWith("from multiprocessing.spawn import spawn_main"))
        ? "was started by multiprocessing (spawn_main … --multiprocessing-fork)"
        : undefined,
    judgeOwner: byParent("the Python program that started it"),
  },
  {
    kind: "multiprocessing fork server",
    recognise: (process) =>
      argvOf(process).some((word) => word.startsWith("from multiprocessing.forkserver import main"))
        ? "was started by multiprocessing's fork server"
        : undefined,
    judgeOwner: byParent("the Python program that started it"),
  },
  titled("vLLM worker", "its API server", WORKER_TITLES.vllm),
  titled("SGLang worker", "its server", WORKER_TITLES.sglang),
  titled("Ray worker", "its raylet", WORKER_TITLES.ray),
  {
    kind: "Jupyter kernel",
    recognise: (process) =>
      argvOf(process).some((word) => /(?:^|[./])ipykernel_launcher(?:\.py)?$|^ipykernel$/.test(word))
        ? "is a Jupyter kernel (ipykernel_launcher)"
        : undefined,
    judgeOwner: judgeServer,
  },
  ranked("torchrun rank", "its torchrun agent", ["TORCHELASTIC_RUN_ID", "LOCAL_RANK"]),
  ranked("DeepSpeed rank", "its DeepSpeed launcher", ["CROSS_RANK", "LOCAL_RANK"]),
  ranked("Open MPI rank", "its MPI daemon", ["OMPI_COMM_WORLD_RANK"]),
  ranked("PMIx rank", "its MPI daemon", ["PMIX_RANK"]),
  ranked("MPI rank", "its MPI daemon", ["PMI_RANK"]),
  ranked("Horovod rank", "its launcher", ["HOROVOD_RANK"]),
];

/** Recognises a worker and says whether its owner lives; `undefined` for a process that is no worker we know. */
export function findWorker(process: Process, scan: ProcessScan): WorkerFinding | undefined {
  const own = findByParent(process, scan);
  if (own?.owner !== "alive") return own;
  // A worker's parent may itself be a worker whose owner is gone: the whole branch has lost its root.
  for (const ancestor of ancestorsOf(process, scan)) {
    const above = findByParent(ancestor, scan);
    if (above?.owner === "gone") {
      const why = `it descends from PID ${ancestor.pid}, a ${above.kind} whose own owner has ended`;
      return { kind: own.kind, owner: "gone", root: ancestor, evidence: [own.evidence[0], why] };
    }
    if (above?.owner !== "alive") break;
  }
  return own;
}

/** What its kind makes of a process and its owner, whatever became of the owner's own. */
function findByParent(process: Process, scan: ProcessScan): WorkerFinding | undefined {
  for (const { kind, recognise, judgeOwner } of KINDS) {
    const seen = recognise(process);
    if (seen === undefined) continue;
    const { state, why } = judgeOwner(process, scan);
    return { kind, owner: state, root: process, evidence: [seen, why] };
  }
  return undefined;
}

function byParent(owner: string): WorkerKind["judgeOwner"] {
  return (process, scan) => judgeOwnerByParent(process, owner, scan);
}

function titled(kind: string, owner: string, title: RegExp): WorkerKind {
  return {
    kind,
    recognise: (process) => {
      const found = findTitle(process, title);
      return found === undefined ? undefined : `calls itself ${found} and runs a Python interpreter`;
    },
    judgeOwner: byParent(owner),
  };
}

function ranked(kind: string, owner: string, names: readonly string[]): WorkerKind {
  return {
    kind,
    recognise: (process) =>
      names.every((name) => variableOf(process, name) !== undefined)
        ? `was started as a rank (${names.map((name) => `${name}=${variableOf(process, name)}`).join(", ")})`
        : undefined,
    judgeOwner: (process, scan) => judgeLauncher(process, { owner, names }, scan),
  };
}

function argvOf(process: Process): readonly string[] {
  return process.argv.ok ? process.argv.value : [];
}
