/** Which contexts out of place are a framework's habit: they are there without a line of the program that asks for them. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import type { IsolationViolation, StrayCause } from "../model/isolation.ts";
import { type Framework, FRAMEWORKS } from "./frameworks.ts";
import type { IsolationInput } from "./isolation_input.ts";
import type { JobContexts } from "./isolation_ranks.ts";

interface Habit {
  /** What follows "PID 7 runs JAX, which". */
  readonly what: string;
  readonly fix: string;
  /** Whether a context out of place is there by this habit. */
  explains(violation: IsolationViolation, place: Place): boolean;
}

interface Place {
  /** GPUs on which the process has a context. */
  readonly onGpus: readonly GpuUuid[];
  /** Whether the GPU is the first of the machine. */
  readonly isFirst: boolean;
}

/** What shows a process every GPU, so that the machine's first is its first too. */
const SHOWN_ALL: readonly StrayCause[] = ["variable-missing", "set-too-late", "value-ignored"];

/**
 * JAX: docs.jax.dev, "GPU memory allocation"; 552 and 528 MiB on two H200 with JAX 0.11, preallocation off and its only array
 * on one. TensorFlow: tensorflow.org/guide/gpu, "Limiting GPU memory growth". PyTorch: pytorch.org, "CUDA semantics".
 */
const HABITS: Readonly<Record<Framework, Habit>> = {
  JAX: {
    what:
      "takes a context on every GPU that it sees, also where its arrays live on one (seen with JAX 0.11), and " +
      "75 % of the memory of each unless XLA_PYTHON_CLIENT_PREALLOCATE=false (its guide to GPU memory allocation)",
    fix: "Set CUDA_VISIBLE_DEVICES before the first import of jax",
    explains: isOneOfSeveral,
  },
  TensorFlow: {
    what: "takes nearly all memory of every GPU that it sees (its guide to using a GPU)",
    fix:
      "Call tf.config.set_visible_devices before anything else of TensorFlow, or set CUDA_VISIBLE_DEVICES " +
      "before the first import of it",
    explains: isOneOfSeveral,
  },
  PyTorch: {
    what: "works on the first GPU that it sees unless it is told another (its notes on CUDA semantics)",
    fix: "Call torch.cuda.set_device before the first tensor on a GPU",
    explains: ({ cause }, { isFirst }) => isFirst && SHOWN_ALL.includes(cause),
  },
};

/** Explains violations by the habits of the frameworks that the processes run, each framework once. */
export function habitNotes(
  { frameworks, machine }: Pick<IsolationInput, "frameworks" | "machine">,
  { jobs, violations }: { readonly jobs: JobContexts; readonly violations: readonly IsolationViolation[] },
): readonly string[] {
  const first = machine.gpus.toSorted((a, b) => a.index - b.index)[0]?.uuid;
  const isBy = (framework: Framework) => (violation: IsolationViolation) =>
    frameworks?.get(violation.pid) === framework && violation.cause !== "mps" &&
    HABITS[framework].explains(violation, {
      onGpus: jobs.gpusOf(violation.pid),
      isFirst: violation.gpu === first,
    });
  return FRAMEWORKS.flatMap((framework) => {
    const pids = [...new Set(violations.filter(isBy(framework)).map(({ pid }) => pid))];
    const { what, fix } = HABITS[framework];
    return pids.length === 0 ? [] : [`${runners(pids)} ${framework}, which ${what}. ${fix}`];
  });
}

/** With a context on one GPU alone, that it takes all explains nothing. */
function isOneOfSeveral(_: IsolationViolation, { onGpus }: Place): boolean {
  return onGpus.length > 1;
}

function runners([first, ...others]: readonly Pid[]): string {
  return others.length === 0 ? `PID ${first} runs` : `PID ${first} and ${others.length} more run`;
}
