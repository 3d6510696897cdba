/** What `--gpu` names where a GPU may have fallen off the bus. */
import type { GpuSelector } from "../lib/analysis/select_gpus.ts";
import type { DriverReport, Gpu, UnreadableGpu } from "../lib/model/gpu.ts";
import { chooseGpus } from "./options.ts";

/** GPUs that can be read, and those that cannot. */
export interface Chosen {
  readonly gpus: readonly Gpu[];
  readonly unreadable: readonly UnreadableGpu[];
}

/**
 * Which GPUs were meant; all of them where none was named. One that has fallen off the bus has only its index to be named by.
 *
 * @throws {GpuctlError} if one is not there.
 */
export function chooseWithLost(
  report: Pick<DriverReport, "gpus" | "unreadableGpus">,
  selectors: readonly GpuSelector[] | undefined,
): Chosen {
  if (selectors === undefined) return { gpus: report.gpus, unreadable: report.unreadableGpus };
  const isNamed = (index: number) =>
    selectors.some((each) => each.kind === "indexes" && each.first <= index && index <= each.last);
  const unreadable = report.unreadableGpus.filter(({ index }) => isNamed(index));
  const readable = unreadable.length === 0 ? selectors : selectors.flatMap(withoutUnreadable);
  return { gpus: readable.length === 0 ? [] : chooseGpus(report.gpus, readable), unreadable };

  function withoutUnreadable(selector: GpuSelector): readonly GpuSelector[] {
    if (selector.kind !== "indexes") return [selector];
    const indexes = Array.from(
      { length: selector.last - selector.first + 1 },
      (_, at) => selector.first + at,
    );
    return indexes.filter((index) => unreadable.every((each) => each.index !== index))
      .map((index) => ({ kind: "indexes", first: index, last: index }));
  }
}
