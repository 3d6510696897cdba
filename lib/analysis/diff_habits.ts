/** Habits of frameworks that look like leaks and are none. */
import type { Pid } from "../core/ids.ts";
import { formatBytes, milliseconds } from "../core/units.ts";
import type { ProcessUse } from "./diff_usage.ts";
import { type Framework, FRAMEWORKS } from "./frameworks.ts";

/** Measured with JAX 0.11 and PyTorch 2.11 on an H200: deleting an array or tensor changes nothing that the driver sees. */
const HABITS: Readonly<Record<Framework, string>> = {
  JAX:
    "JAX returns memory only at exit. Deleting arrays gives nothing back to the GPU. To free it earlier, run the GPU part in a child process. XLA_PYTHON_CLIENT_PREALLOCATE=false makes it take less from the start",
  TensorFlow:
    "TensorFlow takes nearly all memory of every GPU it sees and returns it only at exit. TF_FORCE_GPU_ALLOW_GROWTH=true makes it take only what it needs",
  PyTorch:
    "PyTorch caches what its tensors have freed, and returns it at exit or at torch.cuda.empty_cache(); a context of about 500 MiB stays until exit",
};

/** Shorter than this, nobody wonders. */
const SHORTEST = milliseconds(2000);

/** One process's use of one GPU, and the framework it runs if that is known. */
export interface FrameworkUse {
  readonly pid: Pid;
  readonly framework: Framework | undefined;
  readonly use: ProcessUse;
}

/** Explains the processes that kept what they had until they ended, each framework once. */
export function explainHabits(uses: readonly FrameworkUse[]): string[] {
  return FRAMEWORKS.flatMap((framework) => {
    const keepers = uses.filter((use) => use.framework === framework && heldToTheEnd(use.use));
    const [first] = keepers;
    if (first === undefined || !first.use.peak.ok) return [];
    const pids = new Set(keepers.map(({ pid }) => pid));
    const more = pids.size === 1 ? "" : ` and ${pids.size - 1} more`;
    return [
      `PID ${first.pid}${more} kept its peak of ${
        formatBytes(first.use.peak.value)
      } until it ended. That is no leak: ${HABITS[framework]}.`,
    ];
  });
}

/** Whether a process stayed near its peak for so long, and to its end, that a person would wonder. */
function heldToTheEnd({ firstAt, lastAt, highSince }: ProcessUse): boolean {
  if (highSince === undefined) return false;
  const [high, life] = [lastAt - highSince, lastAt - firstAt];
  return high >= SHORTEST && high >= life / 2;
}
