import type { Reading } from "../core/reading.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { Problem } from "../model/snapshot.ts";

/** What a driver's report, or its absence, leaves unseen: GPUs that do not open and lists that are not whole. */
export function reportProblems(report: Reading<DriverReport>): Problem[] {
  if (!report.ok) return [{ subject: "driver", reason: report, message: "The driver gave no answer" }];
  const { gpus, unreadableGpus } = report.value;
  const unreadable = unreadableGpus.map(({ index, reason }): Problem => ({
    subject: `GPU ${index}`,
    reason,
    message: `GPU ${index} cannot be read`,
  }));
  const lists = gpus.flatMap(({ index, processList: list }): Problem[] => {
    if (list.state === "known") return [];
    const message = list.state === "unknown"
      ? `The process list of GPU ${index} cannot be read: that is not the same as no process`
      : `The process list of GPU ${index} is incomplete`;
    return [{ subject: `process list of GPU ${index}`, reason: list.reason, message }];
  });
  return [...unreadable, ...lists];
}
