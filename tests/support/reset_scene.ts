/** Machines to reset, as data: all is well on them but for what a test changes. */
import { attribute } from "../../lib/analysis/attribute.ts";
import type { ResetFlags, ResetInput } from "../../lib/analysis/reset_input.ts";
import { parseBusId, type Pid, pid } from "../../lib/core/ids.ts";
import { absent, known, type Reading } from "../../lib/core/reading.ts";
import { percent } from "../../lib/core/units.ts";
import type { Gpu } from "../../lib/model/gpu.ts";
import type { GpuHealth } from "../../lib/model/gpu_health.ts";
import type { Observation } from "../../lib/model/observation.ts";
import type { GpuService, ResetFacts, XidEvent } from "../../lib/model/reset_facts.ts";
import { type MachineSpec, observe } from "./machine.ts";

/** A GPU in good health, with no link to another. */
export const HEALTHY: GpuHealth = {
  ecc: known({ current: true, pending: true }),
  uncorrectedErrors: known(0),
  remappedRows: known({ correctable: 0, uncorrectable: 0, isPending: false, hasFailed: false }),
  hasRetirementPending: absent("not-supported"),
  nvlinkPeers: known([]),
  hasNvSwitch: known(false),
  virtualization: known("none"),
  fabric: absent("not-supported"),
  smClockMegahertz: known(345),
  architecture: known("Hopper"),
};

/** A server of which everything could be read, and nothing stands in the way. */
export const PLAIN_FACTS: ResetFacts = {
  kernelLog: known({ xids: [], switchErrors: [], isWhole: true }),
  modules: known([{ name: "nvidia", references: 12, usedBy: ["nvidia_uvm"] }]),
  drmModeset: absent("not-supported"),
  platform: known("bare-metal"),
  isContainer: known(false),
  services: known([]),
  consoleGpus: known(new Set()),
  transientUnits: known(new Set()),
};

export const NO_FLAGS: ResetFlags = {
  evict: false,
  named: new Set(),
  protect: [],
  stopServices: false,
  isRoot: true,
};

export interface ResetScene {
  readonly machine?: MachineSpec;
  /** What is different about each GPU, by index. */
  readonly gpus?: Readonly<Record<number, Partial<Gpu> & { readonly has?: Partial<GpuHealth> }>>;
  readonly facts?: Partial<ResetFacts>;
  readonly flags?: Partial<ResetFlags>;
  /** Indexes of the chosen GPUs; 0 unless given. */
  readonly chosen?: readonly number[];
  readonly smiPath?: Reading<string>;
  readonly observation?: Partial<Observation>;
  readonly driver?: string;
  readonly ownKills?: ResetInput["ownKills"];
  readonly lastResets?: ResetInput["lastResets"];
}

/** Builds what a reset is judged by: idle, busy 0 %, persistence mode off, unless the scene says otherwise. */
export function resetInput(scene: ResetScene = {}): ResetInput {
  const seen = observe({ gpus: [{ utilization: 0 }], processes: [], ...scene.machine });
  const report = seen.report.ok
    ? known({
      ...seen.report.value,
      driver: { ...seen.report.value.driver, version: known(scene.driver ?? "580.159.04") },
      gpus: seen.report.value.gpus.map((gpu) => {
        const { has, ...changes } = scene.gpus?.[gpu.index] ?? {};
        const calm = { utilization: gpu.utilization.ok ? gpu.utilization : NOT_BUSY, persistenceMode: OFF };
        return { ...gpu, ...calm, health: { ...HEALTHY, ...has }, ...changes };
      }),
    })
    : seen.report;
  const observation: Observation = { ...seen, report, ...scene.observation };
  const gpus = report.ok ? report.value.gpus : [];
  return {
    observation,
    snapshot: attribute(observation),
    facts: { ...PLAIN_FACTS, ...scene.facts },
    gpus: gpus.filter(({ index }) => (scene.chosen ?? [0]).includes(index)),
    smiPath: scene.smiPath ?? known("/usr/bin/nvidia-smi"),
    flags: { ...NO_FLAGS, ...scene.flags },
    ownKills: scene.ownKills ?? [],
    ...(scene.lastResets && { lastResets: scene.lastResets }),
  };
}

const NOT_BUSY: Gpu["utilization"] = known(percent(0));
const OFF = known(false);

/** An error of GPU 0 in the kernel log. */
export function xid(number: number, at: number, text = "", owner?: number): XidEvent {
  return {
    busId: parseBusId("0000:00:00.0"),
    xid: number,
    microsecondsSinceBoot: known(at),
    pid: owner === undefined ? absent("not-reported") : known(pid(owner)),
    name: absent("not-reported"),
    text,
  };
}

/** A kernel log that reaches back to boot. */
export function logOf(...xids: readonly XidEvent[]): ResetFacts["kernelLog"] {
  return known({ xids, switchErrors: [], isWhole: true });
}

/** A service that runs. */
export function service(unit: string, kind: GpuService["kind"], mainPid?: number): GpuService {
  const main: Reading<Pid> = mainPid === undefined ? absent("not-reported") : known(pid(mainPid));
  return { unit, kind, isActive: true, mainPid: main };
}
