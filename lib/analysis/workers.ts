/** Workers that make no sense without the process that started them, and what became of that process. */
import { isPid } from "../core/ids.ts";
import type { Process } from "../model/process.ts";
import { ancestorsOf, type Family, findStarter, isPython } from "./lineage.ts";

/** What a worker is, and whether its owner lives. */
export interface WorkerFinding {
  readonly kind: string;
  readonly owner: "alive" | "gone" | "unknown";
  /** One sentence each. */
  readonly evidence: readonly string[];
}

interface WorkerKind {
  readonly kind: string;
  readonly owner: string;
  recognise(process: Process): string | undefined;
  /** Pid of the owner where the worker itself says it. */
  ownerPid?(process: Process): number | undefined;
}

/** How each kind of worker is told. First match wins; a title counts only on a Python interpreter. */
const KINDS: readonly WorkerKind[] = [
  {
    kind: "multiprocessing worker",
    owner: "the Python program that started it",
    recognise: (process) =>
      argvOf(process).includes("--multiprocessing-fork") &&
        argvOf(process).some((word) => word.startsWith("from multiprocessing.spawn import spawn_main"))
        ? "was started by multiprocessing (spawn_main … --multiprocessing-fork)"
        : undefined,
  },
  {
    kind: "multiprocessing fork server",
    owner: "the Python program that started it",
    recognise: (process) =>
      argvOf(process).some((word) => word.startsWith("from multiprocessing.forkserver import main"))
        ? "was started by multiprocessing's fork server"
        : undefined,
  },
  titled("vLLM worker", "its API server", /^VLLM::/),
  titled("SGLang worker", "its server", /^sglang::/),
  titled("Ray worker", "its raylet", /^ray::/),
  {
    kind: "Jupyter kernel",
    owner: "its Jupyter server",
    recognise: (process) =>
      argvOf(process).some((word) => /(?:^|[./])ipykernel_launcher(?:\.py)?$|^ipykernel$/.test(word))
        ? "is a Jupyter kernel (ipykernel_launcher)"
        : undefined,
    ownerPid: (process) => Number(variable(process, "JPY_PARENT_PID") ?? NaN),
  },
  ranked("torchrun rank", "its torchrun agent", ["TORCHELASTIC_RUN_ID", "LOCAL_RANK"]),
  ranked("DeepSpeed rank", "its DeepSpeed launcher", ["CROSS_RANK", "LOCAL_RANK"]),
  ranked("Open MPI rank", "its MPI daemon", ["OMPI_COMM_WORLD_RANK"]),
  ranked("PMIx rank", "its MPI daemon", ["PMIX_RANK"]),
  ranked("MPI rank", "its MPI daemon", ["PMI_RANK"]),
  ranked("Horovod rank", "its launcher", ["HOROVOD_RANK"]),
];

/** Recognises a worker and says whether its owner lives; `undefined` for a process that is no worker we know. */
export function findWorker(process: Process, family: Family): WorkerFinding | undefined {
  for (const kind of KINDS) {
    const seen = kind.recognise(process);
    if (seen !== undefined) return judgeOwner(process, kind, seen, family);
  }
  return undefined;
}

function judgeOwner(process: Process, kind: WorkerKind, seen: string, family: Family): WorkerFinding {
  const said = kind.ownerPid?.(process);
  if (said !== undefined && Number.isSafeInteger(said)) {
    return judgeNamedOwner(process, kind, seen, said, family);
  }
  const starter = findStarter(process, family);
  if (starter.state === "unknown") {
    return { kind: kind.kind, owner: "unknown", evidence: [seen, starter.why] };
  }
  if (starter.state === "gone") {
    const adopter = `PID ${starter.adoptedBy.pid} (${starter.adoptedBy.comm})`;
    return {
      kind: kind.kind,
      owner: "gone",
      evidence: [seen, `${kind.owner} has ended: its parent is now ${adopter}`],
    };
  }
  // A worker's parent may itself be a worker whose owner is gone: the whole branch has lost its root.
  const above = findWorker(starter.process, family);
  if (above?.owner === "gone") {
    return {
      kind: kind.kind,
      owner: "gone",
      evidence: [
        seen,
        `its parent, PID ${starter.process.pid}, is a ${above.kind} whose own owner has ended`,
      ],
    };
  }
  return {
    kind: kind.kind,
    owner: "alive",
    evidence: [seen, `its parent, PID ${starter.process.pid} (${starter.process.comm}), lives`],
  };
}

function judgeNamedOwner(
  process: Process,
  kind: WorkerKind,
  seen: string,
  ownerPid: number,
  family: Family,
): WorkerFinding {
  const parent = ancestorsOf(process, family).find(({ pid }) => pid === ownerPid);
  if (parent) {
    return { kind: kind.kind, owner: "alive", evidence: [seen, `${kind.owner}, PID ${ownerPid}, lives`] };
  }
  const named = isPid(ownerPid) ? family.processes.get(ownerPid) : undefined;
  if (named === undefined || !isPython(named)) {
    return { kind: kind.kind, owner: "gone", evidence: [seen, `${kind.owner}, PID ${ownerPid}, has ended`] };
  }
  return {
    kind: kind.kind,
    owner: "unknown",
    evidence: [seen, `PID ${ownerPid} lives and may be ${kind.owner}`],
  };
}

function titled(kind: string, owner: string, title: RegExp): WorkerKind {
  return {
    kind,
    owner,
    recognise: (process) => {
      const [first = ""] = argvOf(process);
      return title.test(first) && isPython(process)
        ? `calls itself ${first} and runs a Python interpreter`
        : undefined;
    },
  };
}

function ranked(kind: string, owner: string, names: readonly string[]): WorkerKind {
  return {
    kind,
    owner,
    recognise: (process) =>
      names.every((name) => variable(process, name) !== undefined)
        ? `was started as a rank (${names.map((name) => `${name}=${variable(process, name)}`).join(", ")})`
        : undefined,
  };
}

function argvOf(process: Process): readonly string[] {
  return process.argv.ok ? process.argv.value : [];
}

function variable(process: Process, name: string): string | undefined {
  return process.environment.ok ? process.environment.value.get(name) : undefined;
}
