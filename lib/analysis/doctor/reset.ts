/** Does a GPU need a reset, and what has the driver logged? */
import type { BusId } from "../../core/ids.ts";
import { plural } from "../../core/text.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import { type GpuResetNeed, RESET_ADVICE } from "../../model/reset.ts";
import type { KernelLog, XidEvent } from "../../model/reset_facts.ts";
import { judgeResetNeeds, judgeUnreadableGpu } from "../reset_need.ts";
import { classifyXid, judgeXids } from "../xids.ts";
import { actsSinceBoot, asResetInput } from "./as_reset_input.ts";
import { type Answer, type CheckPlan, type DoctorFacts, withAnswer, withDriver } from "./facts.ts";
import { finding, fine, unknown, unseen, worstVerdict } from "./verdict.ts";

export const RESET_NEEDED: CheckPlan = {
  id: "reset.needed",
  title: "no GPU needs a reset",
  explanation:
    "The driver says which GPU is to be reset, drained or rebooted; what waits for a reset, such as bad rows of " +
    "memory, gets worse while it waits.",
  reads: ["driver", "look", "machine", "services", "acts"],
  judge: (facts) => withAnswer(facts, (answer) => judgeResets(answer, facts)),
};

export const XID_HISTORY: CheckPlan = {
  id: "xid.history",
  title: "the kernel log holds no error of a GPU that asks for anything",
  explanation:
    "The driver numbers its errors (Xid). Some are a program's own fault, some mean that a card or a link fails.",
  reads: ["driver", "machine", "acts"],
  judge: judgeHistory,
};

function judgeResets(answer: Answer, facts: DoctorFacts): CheckVerdict {
  const needs = [
    ...judgeResetNeeds(asResetInput(answer, facts)),
    ...answer.report.unreadableGpus.map(({ index, reason }) => judgeUnreadableGpu(index, reason)),
  ];
  const drasticFirst = needs.toSorted((a, b) =>
    RESET_ADVICE.indexOf(a.advice) - RESET_ADVICE.indexOf(b.advice)
  );
  return worstVerdict(drasticFirst.map(judgeNeed));
}

function judgeNeed({ index, advice, reasons }: GpuResetNeed): CheckVerdict {
  const evidence = reasons.map((reason) => `GPU ${index}: ${reason}`);
  switch (advice) {
    case "none":
      return fine(...evidence);
    case "unknown":
      return unknown(evidence, "run it as root, on the host: sudo gpuctl doctor");
    case "end-processes":
      // What is left once they are gone shows only then.
      return unknown(
        [`GPU ${index}: whether it needs a reset shows once its memory is given back: see memory.holders-left-behind`],
        "gpuctl clean-zombies",
      );
    case "reboot":
      return finding(
        evidence,
        "let the jobs of the machine end and reboot it; if the GPU stays away, cut the power",
      );
    case "drain":
    case "reset":
      return finding(evidence, `see what is in the way of a reset: gpuctl reset-gpu ${index}`);
  }
}

function judgeHistory(facts: DoctorFacts): CheckVerdict {
  const { machine } = facts;
  if (!machine.ok) return unseen("what the kernel log says", machine);
  const { kernelLog } = machine.value;
  if (kernelLog.ok && hasErrors(kernelLog.value)) return judgeLog(kernelLog.value, facts);
  return withDriver(
    facts,
    () => kernelLog.ok ? judgeLog(kernelLog.value, facts) : unseen("what the kernel log says", kernelLog),
  );
}

function hasErrors({ xids, switchErrors }: KernelLog): boolean {
  return xids.length > 0 || switchErrors.length > 0;
}

function judgeLog({ xids, switchErrors, isWhole }: KernelLog, facts: DoctorFacts): CheckVerdict {
  const acts = actsSinceBoot(facts.acts);
  const devices = [...new Set(xids.map(({ busId }) => busId))];
  const verdicts = devices.map((busId) => judgeDevice(busId, xids, acts));
  if (switchErrors.length > 0) {
    verdicts.push(finding(
      [`${plural(switchErrors.length, "error")} of NVSwitches, the last: ${switchErrors.at(-1)}`],
      "see the log of Fabric Manager (journalctl -u nvidia-fabricmanager); reset the GPUs of a link that failed",
    ));
  }
  if (!isWhole) {
    verdicts.push(unknown(
      ["the kernel log no longer reaches back to boot: earlier errors are not known"],
      "older errors may be in the journal: journalctl -k -b | grep -i xid",
    ));
  }
  return verdicts.length === 0
    ? fine("the kernel log holds no error of a GPU since boot")
    : worstVerdict(verdicts);
}

function judgeDevice(
  busId: BusId,
  xids: readonly XidEvent[],
  { ownKills, lastResets }: ReturnType<typeof actsSinceBoot>,
): CheckVerdict {
  const own = xids.filter((event) => event.busId === busId);
  const { action, reasons } = judgeXids(own, { busId, ownKills, lastReset: lastResets?.get(busId) });
  const evidence = reasons.map((reason) => `${busId}: ${reason}`);
  if (action !== "none") {
    return finding(
      evidence,
      `see whether the GPU still needs a reset: gpuctl reset-gpu ${busId}; a card that logs this again and again wants ` +
        "replacing",
    );
  }
  const told = [...evidence, ...countHarmless(busId, own)];
  return fine(
    ...(told.length > 0 ? told : [`${busId}: ${plural(own.length, "error")} from before it was reset`]),
  );
}

/** Errors that ask for nothing are told with their numbers alone. */
function countHarmless(busId: BusId, events: readonly XidEvent[]): string[] {
  return [...new Set(events.map(({ xid }) => xid))].sort((a, b) => a - b).flatMap((xid) => {
    const same = events.filter((event) => event.xid === xid);
    const [first] = same;
    if (first === undefined || classifyXid(first).action !== "none") return [];
    return [`${busId}: Xid ${xid}, ${plural(same.length, "time")} (${classifyXid(first).meaning})`];
  });
}
