/** Machines to examine, as data: all is well on them but for what a test changes. */
import { attribute } from "../../lib/analysis/attribute.ts";
import { CHECKS } from "../../lib/analysis/doctor/checks.ts";
import type { DoctorFacts } from "../../lib/analysis/doctor/facts.ts";
import { deviceMinor, parseBusId } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import type { CheckId, CheckVerdict } from "../../lib/model/doctor.ts";
import type { DriverFiles, NodeFile } from "../../lib/model/doctor_facts.ts";
import type { DriverReport, Gpu } from "../../lib/model/gpu.ts";
import type { GpuHealth } from "../../lib/model/gpu_health.ts";
import type { DeviceNode, Observation } from "../../lib/model/observation.ts";
import type { FrameworkBuild, PythonInterpreter } from "../../lib/model/python_packages.ts";
import type { ResetFacts } from "../../lib/model/reset_facts.ts";
import type { MachineSpec } from "./machine.ts";
import { PLAIN_FACTS, resetInput } from "./reset_scene.ts";

/** A node that everybody may open. */
export function node(path: string, kind: DeviceNode, changes: Partial<NodeFile> = {}): NodeFile {
  return {
    path,
    node: kind,
    access: known("granted"),
    isForEverybody: true,
    permissions: "0:0 0666",
    isCurrent: known(true),
    ...changes,
  };
}

/** The nodes of a machine with one GPU. */
export const NODES: readonly NodeFile[] = [
  node("/dev/nvidia0", { kind: "gpu", minor: deviceMinor(0) }),
  node("/dev/nvidia-uvm", { kind: "uvm" }),
  node("/dev/nvidiactl", { kind: "control" }),
];

/** A driver of which everything is there, for one H200. */
export const DRIVER: DriverFiles = {
  isLoaded: known(true),
  moduleVersion: known("580.159.04"),
  pciGpus: known([{ busId: parseBusId("0000:00:00.0"), driver: "nvidia" }]),
  kernelGpus: known([{ name: known("NVIDIA H200"), minor: known(deviceMinor(0)) }]),
  managementLibraries: known([
    { path: "/usr/lib64/libnvidia-ml.so.1", version: known("580.159.04") },
  ]),
  cudaLibraries: known([{ path: "/usr/lib64/libcuda.so.1", version: known("580.159.04") }]),
  compatLibraries: known([]),
  nodes: known(NODES),
};

/** A torch that runs on that machine. */
export const TORCH: FrameworkBuild = {
  framework: "torch",
  distribution: "torch",
  version: known("2.9.0+cu130"),
  target: known({ kind: "cuda", version: "13.0" }),
  toldBy: "/venv/lib/python3.12/site-packages/torch/version.py",
  architectures: { ok: false, why: "not-reported" },
  conflicts: [],
};

/** An interpreter with these frameworks. */
export function interpreter(...builds: readonly FrameworkBuild[]): PythonInterpreter {
  return { path: "/venv/bin/python", origin: "--python", sites: ["/venv/lib"], builds: known(builds) };
}

export interface DoctorScene {
  readonly driver?: Partial<DriverFiles>;
  /** Facts as they are, in place of those of the scene. */
  readonly facts?: Partial<DoctorFacts>;
  readonly machine?: Partial<Omit<ResetFacts, "services">>;
  readonly spec?: MachineSpec;
  readonly gpus?: Readonly<Record<number, Partial<Gpu> & { readonly has?: Partial<GpuHealth> }>>;
  readonly observation?: Partial<Observation>;
  /** GPUs that cannot be opened. */
  readonly unreadable?: DriverReport["unreadableGpus"];
  readonly shell?: Readonly<Record<string, string>>;
}

/** Builds what a machine is judged by. */
export function doctorFacts(scene: DoctorScene = {}): DoctorFacts {
  const { services, ...machine } = PLAIN_FACTS;
  const { observation: seen } = resetInput({
    ...scene.spec && { machine: scene.spec },
    gpus: scene.gpus ?? { 0: { persistenceMode: known(true) } },
    ...scene.observation && { observation: scene.observation },
  });
  const observation = scene.unreadable === undefined || !seen.report.ok
    ? seen
    : { ...seen, report: known({ ...seen.report.value, unreadableGpus: scene.unreadable }) };
  return {
    driver: known({ ...DRIVER, ...scene.driver }),
    standing: known({ isRoot: true, mayTrace: true, isInitialPidNamespace: known(true) }),
    machine: known({ ...machine, ...scene.machine }),
    services,
    look: known({ observation, snapshot: attribute(observation) }),
    containers: known({ engines: [], toolkit: [], cdiSpecs: known([]) }),
    mps: known({ kind: "none", directory: "/tmp/nvidia-mps" }),
    acts: absent("failed", "ENOENT: no such file or directory"),
    shell: known(new Map(Object.entries(scene.shell ?? {}))),
    processes: known([]),
    python: known([interpreter(TORCH)]),
    ...scene.facts,
  };
}

/** What one check says of a machine. */
export function judgeCheck(id: CheckId, scene: DoctorScene = {}): CheckVerdict {
  const plan = CHECKS.find((each) => each.id === id);
  if (plan === undefined) throw new Error(`there is no check ${id}`);
  return plan.judge(doctorFacts(scene));
}
