/** A watch as lines of JSON, `gpuctl.watch/1`. */
import type { Reading } from "../core/reading.ts";
import { contextsOf } from "./gpu.ts";
import { ReasonWriter } from "./reasons.ts";
import type { WatchedGpuJson, WatchEventJson, WatchSampleJson } from "./schema/watch.ts";
import { type GpuAccount, isDriverAnswering, type Snapshot } from "./snapshot.ts";
import type { WatchEvent, WatchView } from "./watch.ts";

/** How things stand at one moment. */
export function encodeWatchSample(view: WatchView): WatchSampleJson {
  const { snapshot } = view;
  const top = new ReasonWriter("the machine");
  const classes = new Map(snapshot.holders.map((holder) => [holder.pid, holder.class]));
  // Without the driver's own answer the GPUs of a snapshot are those that the kernel knows, with nothing in them.
  const gpus = isDriverAnswering(snapshot)
    ? snapshot.gpus.map((account, place) =>
      encodeGpu(account, classes, top.within(`gpus/${place}`, `GPU ${account.gpu.index}`))
    )
    : top.put<WatchedGpuJson[]>(reasonOf(snapshot), "gpus");
  return {
    schema: "gpuctl.watch/1",
    event: "sample",
    at: view.at,
    elapsedMs: Math.round(view.elapsed),
    simulated: snapshot.simulated,
    gpus,
    processesAgeMs: Math.round(view.processesAge),
    alerts: view.alerts.map(({ key }) => key),
    problems: top.problems([...snapshot.problems, ...view.remarks]),
  };
}

/** Something that begins or is over. */
export function encodeWatchEvent(told: WatchEvent): WatchEventJson {
  const { alert: { kind, severity, key, gpu, process, since, message, evidence, advice }, at } = told;
  const about = {
    kind,
    severity,
    key,
    gpu: gpu ? { index: gpu.index, uuid: gpu.uuid ?? null } : null,
    process: process ? { pid: process.pid, command: process.command ?? null } : null,
    since,
    message,
  };
  const schema = "gpuctl.watch/1";
  return told.event === "alert"
    ? { schema, event: "alert", at, ...about, evidence: [...evidence], advice }
    : { schema, event: "cleared", at, ...about, lastedMs: Math.round(told.lasted) };
}

function reasonOf({ driver, problems }: Snapshot): Reading<never> {
  if (!driver.ok) return driver;
  return problems.find(({ subject }) => subject === "driver")?.reason ?? { ok: false, why: "failed" };
}

function encodeGpu(
  { gpu, unattributed }: GpuAccount,
  classes: ReadonlyMap<number, Snapshot["holders"][number]["class"]>,
  to: ReasonWriter,
): WatchedGpuJson {
  const { processList } = gpu;
  if (processList.state !== "known") to.put(processList.reason, "processes");
  return {
    index: gpu.index,
    uuid: gpu.uuid,
    memoryTotalBytes: to.put(gpu.memoryTotal, "memoryTotalBytes"),
    memoryUsedBytes: to.put(gpu.memoryUsed, "memoryUsedBytes"),
    unattributedBytes: to.put(unattributed, "unattributedBytes"),
    utilizationPercent: to.put(gpu.utilization, "utilizationPercent"),
    processList: processList.state,
    processes: contextsOf(processList).map(({ pid, used }, place) => ({
      pid,
      class: classes.get(pid) ?? null,
      contextBytes: to.within(`processes/${place}`, `PID ${pid} on GPU ${gpu.index}`).put(
        used,
        "contextBytes",
      ),
    })),
  };
}
