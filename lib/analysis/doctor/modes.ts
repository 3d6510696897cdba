/** How the GPUs are set up: persistence, compute mode, MIG. */
import { valueOf } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { Gpu } from "../../model/gpu.ts";
import type { GpuServiceKind, ResetFacts } from "../../model/reset_facts.ts";
import { type Answer, type CheckPlan, withAnswer } from "./facts.ts";
import { finding, fine, skipped, unseen, worstVerdict } from "./verdict.ts";

export const PERSISTENCE: CheckPlan = {
  id: "persistence",
  title: "the driver keeps the GPUs ready",
  explanation:
    "Without persistence the last program to leave shuts a GPU down: the next one waits for seconds, error counts " +
    "are lost, and every monitor wakes the card.",
  reads: ["driver", "look", "services"],
  judge: (facts) =>
    withAnswer(facts, (answer) => judgeEach(answer, (gpu) => judgePersistence(gpu, facts.services))),
};

export const COMPUTE_MODE: CheckPlan = {
  id: "compute-mode",
  title: "programs may use the GPUs",
  explanation:
    "A compute mode can keep all programs off a GPU, or all but one: CUDA then says that devices are busy or " +
    "unavailable.",
  reads: ["driver", "look"],
  judge: (facts) => withAnswer(facts, (answer) => judgeEach(answer, judgeComputeMode)),
};

export const MIG: CheckPlan = {
  id: "mig",
  title: "MIG is as it was asked for, and has instances to run on",
  explanation:
    "A GPU in MIG mode runs nothing but on its instances, and a mode that is pending changes at the next reset, " +
    "wanted or not.",
  reads: ["driver", "look"],
  judge: (facts) => withAnswer(facts, (answer) => judgeEach(answer, judgeMig)),
};

/** Judges each GPU; what cannot be opened is not known. */
function judgeEach({ report }: Answer, judge: (gpu: Gpu) => CheckVerdict): CheckVerdict {
  if (report.gpus.length === 0 && report.unreadableGpus.length === 0) {
    return skipped("the driver shows no GPU: see driver.answers");
  }
  return worstVerdict([
    ...report.gpus.map(judge),
    ...report.unreadableGpus.map(({ index, reason }) => unseen(`the state of GPU ${index}`, reason)),
  ]);
}

function judgePersistence(gpu: Gpu, services: ResetFacts["services"]): CheckVerdict {
  const { index, persistenceMode: mode, displayActive } = gpu;
  const name = `GPU ${index}`;
  if (!mode.ok) {
    return mode.why === "not-supported"
      ? skipped(`${name} has no persistence mode`)
      : unseen(`the persistence mode of ${name}`, mode);
  }
  if (mode.value) return fine(`${name} has persistence mode on`);
  if (valueOf(displayActive) === true) return fine(`${name} drives a display, which keeps it ready`);
  const state = hasService(services, "persistence-daemon") ? ", although the persistence daemon runs" : "";
  return finding(
    [`${name} has persistence mode off${state}`],
    "start the daemon: sudo systemctl enable --now nvidia-persistenced; where there is none: sudo nvidia-smi -pm 1",
  );
}

/** Whether a service of this kind is known to run. */
export function hasService(services: ResetFacts["services"], kind: GpuServiceKind): boolean {
  return services.ok && services.value.some((each) => each.kind === kind && each.isActive);
}

function judgeComputeMode({ index, computeMode: mode }: Gpu): CheckVerdict {
  const name = `GPU ${index}`;
  if (!mode.ok) {
    return mode.why === "not-supported"
      ? skipped(`${name} has no compute mode`)
      : unseen(`the compute mode of ${name}`, mode);
  }
  switch (mode.value) {
    case "default":
      return fine(`${name} lets any number of programs in`);
    case "prohibited":
      return finding(
        [`${name} is in compute mode prohibited: no program can use it`],
        `let programs in again: sudo nvidia-smi -i ${index} -c DEFAULT`,
      );
    case "exclusive-process":
    case "exclusive-thread":
      return fine(`${name} is in compute mode ${mode.value}: a second program on it is refused`);
  }
}

function judgeMig({ index, migMode: mode, migInstances: instances }: Gpu): CheckVerdict {
  const name = `GPU ${index}`;
  if (!mode.ok) {
    return mode.why === "not-supported"
      ? skipped(`${name} has no MIG`)
      : unseen(`the MIG mode of ${name}`, mode);
  }
  const { current, pending } = mode.value;
  if (current !== pending) {
    return finding(
      [`${name} has MIG ${current ? "on" : "off"} now and turns it ${
        pending ? "on" : "off"
      } at the next reset`],
      `see what is in the way of a reset: gpuctl reset-gpu ${index}; to keep it as it is: sudo nvidia-smi -i ${index} ` +
        `-mig ${current ? 1 : 0}`,
    );
  }
  if (!current) return fine(`${name} has MIG off`);
  if (!instances.ok) return unseen(`the MIG instances of ${name}`, instances);
  if (instances.value.length > 0) {
    return fine(`${name} is divided into ${plural(instances.value.length, "MIG instance")}`);
  }
  return finding(
    [`${name} has MIG on and no instance: programs find no GPU there`],
    `make instances (sudo nvidia-smi mig -i ${index} -cgi PROFILE -C), or turn it off: sudo nvidia-smi -i ${index} -mig 0`,
  );
}
