/** Diagnoses by name: what a renderer draws and what a document holds. */
import { CHECKS } from "../../lib/analysis/doctor/checks.ts";
import { absent, known } from "../../lib/core/reading.ts";
import { milliseconds } from "../../lib/core/units.ts";
import type { Diagnosis } from "../../lib/model/doctor.ts";
import { doctorFacts, type DoctorScene, interpreter, NODES, TORCH } from "./doctor_scene.ts";
import { logOf, xid } from "./reset_scene.ts";

function diagnosisOf(scene: DoctorScene, simulated = false): Diagnosis {
  const facts = doctorFacts(scene);
  return {
    takenAt: "2026-11-30T12:00:00.000Z",
    simulated,
    checks: CHECKS.map(({ id, title, explanation, judge }) => ({
      id,
      title,
      explanation,
      ...judge(facts),
      took: milliseconds(12.5),
    })),
  };
}

const ENEMY = "\x1b[2J\x1b]0;owned\x07\u202e";

/** Every one by its name. */
export const DIAGNOSES = {
  well: diagnosisOf({}),
  "no-driver": diagnosisOf({
    driver: {
      isLoaded: known(false),
      moduleVersion: absent("not-supported", "no NVIDIA driver is loaded"),
      pciGpus: known([]),
      nodes: known([]),
    },
    observation: { report: absent("not-supported", "no NVIDIA driver is loaded") },
  }),
  hanging: diagnosisOf({
    observation: { report: absent("timed-out", "helper 812 has been stuck in the driver since noon") },
  }),
  wounded: diagnosisOf({
    driver: {
      cudaLibraries: known([{ path: "/usr/lib64/libcuda.so.1", version: known("535.54.03") }]),
      nodes: known(NODES.map((node) => ({ ...node, access: known("refused-by-rules") }))),
    },
    machine: { isContainer: known(true), kernelLog: logOf(xid(79, 5e6, "GPU has fallen off the bus.")) },
    spec: {
      processes: [{ pid: 900, touch: "inherited", argv: ["python3", "train.py"] }],
      dead: [{ pid: 800, mib: 2566 }],
    },
    shell: { CUDA_VISIBLE_DEVICES: "0,7" },
  }, true),
  hostile: diagnosisOf({
    shell: { CUDA_VISIBLE_DEVICES: ENEMY, NVIDIA_VISIBLE_DEVICES: ENEMY },
    driver: { pciGpus: known([]), isLoaded: absent("failed", ENEMY) },
    facts: {
      python: known([{
        ...interpreter({ ...TORCH, toldBy: ENEMY, conflicts: [ENEMY] }),
        path: `/x/${ENEMY}`,
      }]),
    },
  }),
} as const satisfies Record<string, Diagnosis>;
