/** A reset as JSON, `gpuctl.reset/1`. */
import { ReasonWriter } from "./reasons.ts";
import type { Blocker, GpuResetNeed, Reset, ResetAdvice, ResetGpuResult } from "./reset.ts";
import { encodeResetStep } from "./reset_step_json.ts";
import type { BlockerJson, ResetGpuJson, ResetJson } from "./schema/reset.ts";

/** Whether a reset is what helps. */
const WARRANTS = {
  reboot: false,
  drain: true,
  reset: true,
  "end-processes": false,
  none: false,
  unknown: null,
} as const satisfies Record<ResetAdvice, boolean | null>;

/** The object that scripts read. A missing value is null. */
export function encodeReset(reset: Reset): ResetJson {
  const top = new ReasonWriter("the machine");
  const { takenAt, simulated, needs, blockers, steps, results, outcome, problems } = reset;
  const encoded: Omit<ResetJson, "problems"> = {
    schema: "gpuctl.reset/1",
    takenAt,
    simulated,
    warranted: isWarranted(needs),
    outcome,
    gpus: needs.map((need, place) =>
      encodeGpu(
        need,
        results.find(({ gpu }) => gpu === need.gpu),
        top.within(`gpus/${place}`, `GPU ${need.index}`),
      )
    ),
    blockers: blockers.map(encodeBlocker),
    steps: steps.map(encodeResetStep),
  };
  return { ...encoded, problems: top.problems(problems) };
}

/** One GPU that a reset helps is enough; one of which that is not known keeps "no" from being said. */
function isWarranted(needs: readonly GpuResetNeed[]): boolean | null {
  const all = needs.map(({ advice }): boolean | null => WARRANTS[advice]);
  if (all.includes(true)) return true;
  return all.length === 0 || all.includes(null) ? null : false;
}

function encodeGpu(
  need: GpuResetNeed,
  result: ResetGpuResult | undefined,
  writer: ReasonWriter,
): ResetGpuJson {
  const { gpu, index, name, advice, reasons, processes } = need;
  return {
    index,
    uuid: gpu,
    name: writer.put(name, "name"),
    warranted: WARRANTS[advice],
    advice,
    reasons: [...reasons],
    processes: [...processes],
    back: result?.isBack ?? null,
    memoryUsedBeforeBytes: result ? writer.put(result.usedBefore, "memoryUsedBeforeBytes") : null,
    memoryUsedAfterBytes: result ? writer.put(result.usedAfter, "memoryUsedAfterBytes") : null,
    faults: [...result?.faults ?? []],
  };
}

function encodeBlocker({ gpu, kind, who, pid, unit, why, remedy, clearedBy }: Blocker): BlockerJson {
  return {
    gpu: gpu ?? null,
    kind,
    who,
    pid: pid ?? null,
    unit: unit ?? null,
    why,
    remedy,
    clearedBy,
  };
}
