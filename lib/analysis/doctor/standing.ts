/** What can be seen from where this program stands. */
import { formatAbsent } from "../../core/reading.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import { type CheckPlan, type DoctorFacts, isInContainer } from "./facts.ts";
import { finding, fine, unseen } from "./verdict.ts";

export const PID_NAMESPACE: CheckPlan = {
  id: "namespace.pid",
  title: "all processes of the machine can be seen from here",
  explanation:
    "The driver leaves processes of other PID namespaces out of its list without a word: memory is used, and " +
    "nobody seems to use it.",
  reads: ["standing", "machine"],
  judge: judgeStanding,
};

function judgeStanding({ standing, machine }: DoctorFacts): CheckVerdict {
  if (!standing.ok) return unseen("which processes can be seen from here", standing);
  const { isRoot, mayTrace, isInitialPidNamespace, hiding } = standing.value;
  if (!isInitialPidNamespace.ok) return unseen("which PID namespace this is", isInitialPidNamespace);
  if (!isInitialPidNamespace.value) {
    return finding(
      ["this is not the machine's first PID namespace: only its own processes can be seen"],
      isInContainer({ machine })
        ? "look from the host, or start the container with the host's processes: docker run --pid=host, hostPID: true of a pod"
        : "look from outside of it: sudo nsenter -t 1 -p -m gpuctl snapshot",
    );
  }
  if (hiding !== undefined) {
    return finding(
      [`processes of other users do not show: ${formatAbsent(hiding)}`],
      isRoot ? "look with all rights of root (CAP_SYS_PTRACE)" : "run it as root: sudo gpuctl doctor",
    );
  }
  if (isRoot && !mayTrace) {
    return fine(
      "this is the machine's first PID namespace; " +
        "what processes of others have open this root may not see: it has no CAP_SYS_PTRACE on the machine",
    );
  }
  return mayTrace
    ? fine("this is the machine's first PID namespace, and root sees everybody's descriptors")
    : fine("this is the machine's first PID namespace; what processes of others have open only root may see");
}
