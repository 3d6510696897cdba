/** Which GPUs do the variables of a shell, or of a process, leave to a program? */
import { printable, truncate } from "../../core/text.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { Environment } from "../../model/process.ts";
import { explainVisibleDevices } from "../explain_visible_devices.ts";
import { parseVisibleDevices, type VisibleDevices, type VisibleMachine } from "../visible_devices.ts";
import {
  type CheckPlan,
  type DoctorFacts,
  type ExaminedProcess,
  findAnswer,
  reasonOf,
  withDriver,
} from "./facts.ts";
import { finding, fine, unknown, unseen, worstVerdict } from "./verdict.ts";

export const VISIBLE_DEVICES: CheckPlan = {
  id: "environment.visible-devices",
  title: "the variables leave programs the GPUs that they name",
  explanation:
    "CUDA_VISIBLE_DEVICES is read once, when CUDA starts, and a list with a mistake ends there without a word.",
  reads: ["driver", "look", "shell", "processes"],
  judge: judgeEnvironments,
};

/** Longer values are cut: they come from somebody else's environment. */
const SHOWN_CHARACTERS = 100;
/** Values that hide every GPU on any machine. */
const HIDES_ALL = /^(?:-\d.*|NoDevFiles.*)?$/s;
const CORRECT =
  "set CUDA_VISIBLE_DEVICES to GPUs that there are, or unset it to see all; gpuctl snapshot lists them";

function judgeEnvironments(facts: DoctorFacts): CheckVerdict {
  const { shell, processes } = facts;
  const own = shell.ok
    ? judgeVariables(shell.value, { facts, who: "this shell", isContained: false })
    : unseen("the environment of this shell", shell);
  if (!processes.ok) return worstVerdict([own, unseen("the environment of the processes", processes)]);
  return worstVerdict([own, ...processes.value.map((process) => judgeProcess(process, facts))]);
}

function judgeProcess({ pid, environment, isContained }: ExaminedProcess, facts: DoctorFacts): CheckVerdict {
  const who = `PID ${pid}`;
  if (!environment.ok) return unseen(`the environment of ${who}`, environment);
  if (!isContained.ok) return unseen(`whether ${who} runs in a container`, isContained);
  return judgeVariables(environment.value, { facts, who, isContained: isContained.value });
}

interface Place {
  readonly facts: DoctorFacts;
  readonly who: string;
  /** Numbers mean a container's GPUs, not the machine's. */
  readonly isContained: boolean;
}

function judgeVariables(environment: Environment, place: Place): CheckVerdict {
  const { facts, who, isContained } = place;
  const value = environment.get("CUDA_VISIBLE_DEVICES");
  const order = environment.get("CUDA_DEVICE_ORDER");
  const notes = describeOthers(environment, who);
  if (value === undefined && (order === undefined || order === "PCI_BUS_ID" || order === "FASTEST_FIRST")) {
    return fine(`${who}: CUDA_VISIBLE_DEVICES is not set, so CUDA shows every GPU`, ...notes);
  }
  const shown = `${who}: CUDA_VISIBLE_DEVICES is ${
    value === undefined ? "not set" : `"${printable(truncate(value, SHOWN_CHARACTERS))}"`
  }`;
  if (value !== undefined && HIDES_ALL.test(value)) {
    return finding([shown, "that hides every GPU", ...notes], CORRECT);
  }
  if (isContained) {
    return unknown(
      [shown, `${who} runs in a container, which counts its own GPUs`, ...notes],
      "run gpuctl doctor in that container",
    );
  }
  const answer = findAnswer(facts);
  if (answer === undefined) {
    const without = withDriver(facts, () => unseen("which GPUs there are", reasonOf(facts)));
    return { ...without, status: "unknown", evidence: [shown, ...without.evidence, ...notes] };
  }
  const machine = { ...answer.report, deviceOrder: order };
  return judgeVisible(parseVisibleDevices(value, machine), machine, [shown, ...notes]);
}

function judgeVisible(
  visible: VisibleDevices,
  machine: VisibleMachine,
  notes: readonly string[],
): CheckVerdict {
  const [shown = "", ...others] = notes;
  const evidence = [shown, ...explainVisibleDevices(visible, machine), ...others];
  const { devices, isError, end, doubts } = visible;
  if (end === "bad-device-order") {
    return finding(evidence, "set CUDA_DEVICE_ORDER to PCI_BUS_ID, or unset it");
  }
  const isCutShort = end !== "complete" && end !== "unset";
  if (isError || devices.length === 0 || isCutShort) return finding(evidence, CORRECT);
  if (doubts.includes("mixed-models")) {
    return finding(evidence, "set CUDA_DEVICE_ORDER=PCI_BUS_ID: then numbers are those of nvidia-smi");
  }
  return doubts.length > 0
    ? unknown(evidence, "name the GPUs by their UUIDs: gpuctl snapshot --json has them")
    : fine(...evidence);
}

/** What else bears on the answer. */
function describeOthers(environment: Environment, who: string): string[] {
  const notes: string[] = [];
  const container = environment.get("NVIDIA_VISIBLE_DEVICES");
  if (container !== undefined) {
    notes.push(
      `${who}: NVIDIA_VISIBLE_DEVICES is "${
        printable(truncate(container, SHOWN_CHARACTERS))
      }": it is for the container runtime, and CUDA does not read it`,
    );
  }
  if (environment.has("SUDO_USER")) {
    notes.push("sudo passes few variables on: those of your own shell may differ");
  }
  return notes;
}
