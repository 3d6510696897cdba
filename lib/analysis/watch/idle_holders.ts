/** Who keeps memory and does nothing with it. */
import { formatBytes, formatDuration, type Milliseconds, milliseconds, sumBytes } from "../../core/units.ts";
import type { Observation } from "../../model/observation.ts";
import type { HolderClass, Problem, Snapshot } from "../../model/snapshot.ts";
import type { Condition } from "../../model/watch.ts";
import { judgeHolders } from "../judge.ts";
import { type IdleRecord, idleSpans, updateIdleRecords } from "../idle.ts";
import { nameProcess, watchedProcess } from "./naming.ts";

/** Part of the machine, and idle by nature; or already on its way out. */
const MAY_BE_IDLE: readonly HolderClass[] = ["display", "mps-server", "service", "monitor", "exiting"];

/** Follows how long each holder has used neither processor nor GPU, from one look at everybody to the next. */
export class IdleWatch {
  readonly #limit: Milliseconds;
  #records: readonly IdleRecord[] = [];

  constructor(limit: Milliseconds) {
    this.#limit = limit;
  }

  /** Takes a look in. It must have asked for utilization: a GPU of which that is not known may be at work. */
  add({ report, scan, ticks, host }: Observation): void {
    if (!report.ok || !scan.ok) return;
    const judgement = judgeHolders(report.value, scan.value);
    const bootId = host.bootId.ok ? host.bootId.value : "";
    this.#records = updateIdleRecords(this.#records, { judgement, scan: scan.value, ticks }, bootId);
  }

  /** GPUs of which it cannot be told: who has memory there may be at work. */
  problems({ gpus }: Snapshot): Problem[] {
    return gpus.flatMap(({ gpu: { index, utilization } }) =>
      utilization.ok || utilization.why === "not-asked" ? [] : [{
        subject: `GPU ${index}`,
        reason: utilization,
        message: `GPU ${index} does not say how busy it is: idle holders there are not told`,
      }]
    );
  }

  /** Who has been idle for too long, as far as the looks go back. */
  conditions({ holders, gpus }: Snapshot): Condition[] {
    const spans = idleSpans(this.#records);
    return holders.flatMap((holder): Condition[] => {
      const idleFor = spans.get(holder.pid);
      const kept = holder.devices.filter(({ contextBytes }) => contextBytes.ok && contextBytes.value > 0);
      if (idleFor === undefined || idleFor < this.#limit || kept.length === 0) return [];
      if (MAY_BE_IDLE.includes(holder.class)) return [];
      const places = kept.flatMap(({ gpu }) => gpus.find((each) => each.gpu.uuid === gpu)?.gpu ?? []);
      const [first] = places;
      if (first === undefined) return [];
      const amount = sumBytes(
        kept.flatMap(({ contextBytes }) => contextBytes.ok ? [contextBytes.value] : []),
      );
      const process = watchedProcess(holder.pid, holder);
      const where = places.map(({ index }) => index).join(", ");
      return [{
        kind: "idle",
        key: `idle ${holder.pid} ${holder.startTicks.ok ? holder.startTicks.value : ""}`,
        severity: "notice",
        gpu: { index: first.index, uuid: first.uuid },
        process,
        isOver: true,
        after: milliseconds(0),
        already: idleFor,
        message: `${nameProcess(process)} keeps ${formatBytes(amount)} on GPU ${where} and does nothing`,
        evidence: [
          `no processor time and no work on its GPUs for ${formatDuration(idleFor)}`,
          `it is ${holder.class}`,
        ],
        advice: "ask its owner; gpuctl clean-zombies --idle shows what could be ended",
      }];
    });
  }
}
