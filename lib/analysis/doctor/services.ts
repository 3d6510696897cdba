/** Services that programs rely on without knowing: MPS and Fabric Manager. */
import { type Reading, valueOf } from "../../core/reading.ts";
import { quoteArguments } from "../../core/text.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { Gpu } from "../../model/gpu.ts";
import type { ResetFacts } from "../../model/reset_facts.ts";
import { type CheckPlan, type DoctorFacts, withAnswer } from "./facts.ts";
import { hasService } from "./modes.ts";
import { finding, fine, skipped, unknown, unseen, worstVerdict } from "./verdict.ts";

export const MPS: CheckPlan = {
  id: "mps",
  title: "no program is led to a dead MPS daemon",
  explanation:
    "A pipe directory makes every program of its user a client of MPS, silently. If the daemon is gone, each " +
    "fails or waits at its start.",
  reads: ["mps"],
  judge: judgeMps,
};

export const FABRIC_MANAGER: CheckPlan = {
  id: "fabric-manager",
  title: "GPUs behind NVSwitches have joined their fabric",
  explanation:
    "On such machines CUDA does not start before Fabric Manager has set the switches up; it has to be of exactly " +
    "the driver's version.",
  reads: ["driver", "look", "services"],
  judge: (facts) => withAnswer(facts, ({ report }) => judgeFabric(report.gpus, facts)),
};

function judgeMps({ mps }: DoctorFacts): CheckVerdict {
  if (!mps.ok) return unseen("whether MPS is in use", mps);
  if (mps.value.kind === "none") {
    return skipped(`MPS is not in use: there is no control pipe in ${mps.value.directory}`);
  }
  const { directory, pid, isAlive } = mps.value.daemon;
  if (!isAlive.ok) return unseen(`whether the MPS daemon of ${directory} is alive`, isAlive);
  const name = pid.ok
    ? `the MPS daemon of ${directory} (PID ${pid.value})`
    : `the MPS daemon of ${directory}`;
  if (isAlive.value) {
    return fine(
      `${name} is alive: programs of its user share one server, and end it by: echo quit | nvidia-cuda-mps-control`,
    );
  }
  return finding(
    [`${name} is dead, and its pipes are still there`],
    `start it again (nvidia-cuda-mps-control -d), or take its pipe away: ${
      quoteArguments(["rm", `${directory}/control`])
    }`,
  );
}

function judgeFabric(gpus: readonly Gpu[], facts: DoctorFacts): CheckVerdict {
  const linked = gpus.map((gpu) => ({ gpu, hasSwitch: gpu.health?.hasNvSwitch ?? NOT_READ }));
  const behind = linked.filter(({ hasSwitch }) => valueOf(hasSwitch) === true).map(({ gpu }) => gpu);
  const gaps = linked.flatMap(({ gpu, hasSwitch }) =>
    hasSwitch.ok || hasSwitch.why === "not-supported"
      ? []
      : [unseen(`whether GPU ${gpu.index} is behind an NVSwitch`, hasSwitch)]
  );
  if (behind.length === 0 && gaps.length === 0) return skipped("no GPU is behind an NVSwitch");
  return worstVerdict([...behind.map((gpu) => judgeMember(gpu, facts.services)), ...gaps]);
}

const NOT_READ: Reading<boolean> = { ok: false, why: "not-reported" };
const START = "start it, of the driver's own version: sudo systemctl enable --now nvidia-fabricmanager";

function judgeMember({ index, health }: Gpu, services: ResetFacts["services"]): CheckVerdict {
  const fabric = health?.fabric;
  const isManaged = hasService(services, "fabric-manager");
  if (fabric === undefined) return unknown([`the fabric of GPU ${index} was not read`]);
  if (fabric.ok) {
    const { state, status } = fabric.value;
    if (state === "completed" && status === 0) return fine(`GPU ${index} has joined its fabric`);
    if (state === "completed") {
      return finding(
        [`GPU ${index} could not join its fabric (status ${status})`],
        "restart Fabric Manager together with a reset of all GPUs of the fabric: a restart alone leaves them out",
      );
    }
    return isManaged
      ? finding(
        [`GPU ${index} has not joined its fabric (${state}), although Fabric Manager runs`],
        "see its log: journalctl -u nvidia-fabricmanager",
      )
      : finding(
        [`GPU ${index} has not joined its fabric (${state}), and Fabric Manager is not known to run`],
        START,
      );
  }
  if (fabric.why !== "not-supported") return unseen(`the fabric of GPU ${index}`, fabric);
  // GPUs before Hopper do not tell; then the service is all that there is to go by.
  if (!services.ok) return unseen("whether Fabric Manager runs", services);
  return isManaged
    ? fine(`GPU ${index} is behind an NVSwitch, and Fabric Manager runs`)
    : finding([`GPU ${index} is behind an NVSwitch, and Fabric Manager does not run`], START);
}
