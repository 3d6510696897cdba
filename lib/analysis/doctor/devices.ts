/** May this user open the driver's device nodes? */
import { formatAbsent, valueOf } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { DriverFiles, NodeFile } from "../../model/doctor_facts.ts";
import { type CheckPlan, type DoctorFacts, isInContainer, withDriver } from "./facts.ts";
import { finding, fine, skipped, unseen, worstVerdict } from "./verdict.ts";

export const DEVICE_PERMISSIONS: CheckPlan = {
  id: "devices.permissions",
  title: "the device nodes are there, and this user may open them",
  explanation:
    "Every program reaches the GPUs through /dev/nvidiactl, /dev/nvidia-uvm and one /dev/nvidiaN a GPU.",
  reads: ["driver", "machine", "standing"],
  judge: (facts) => withDriver(facts, (driver) => judgeDevices(facts, driver)),
};

export const CGROUP_DEVICES: CheckPlan = {
  id: "container.cgroup-devices",
  title: "the device rules of the cgroup let the GPUs through",
  explanation:
    "Of a container's GPUs systemd may know nothing: its next daemon-reload on the host then takes them away, " +
    "and NVML fails with Unknown Error though the nodes are there.",
  reads: ["driver", "machine"],
  judge: (facts) => withDriver(facts, (driver) => judgeRules(facts, driver)),
};

const MAKE_NODES = "let the driver make them: sudo nvidia-modprobe -u -c=0";
const GIVE_GPUS = "start the container with GPUs: docker run --gpus all, or the like of its runtime";

function judgeDevices(facts: DoctorFacts, driver: DriverFiles): CheckVerdict {
  const { standing } = facts;
  const { nodes, moduleVersion } = driver;
  // The paravirtual driver of WSL has a node of its own, and no permissions to speak of.
  if (!moduleVersion.ok && moduleVersion.why === "not-supported") return skipped(formatAbsent(moduleVersion));
  if (!nodes.ok) return unseen("which device nodes there are", nodes);
  if (!standing.ok) return unseen("who is asking", standing);
  const isContainer = isInContainer(facts);
  const needed = nodes.value.filter(({ node }) => ["gpu", "control", "uvm"].includes(node.kind));
  const byRules = needed.filter(({ access }) => valueOf(access) === "refused-by-rules");
  const others = needed.filter((each) => !byRules.includes(each));
  const verdicts = [
    ...findMissing(driver, nodes.value, isContainer),
    ...others.map((node) => judgeNode(node, { isContainer, isRoot: standing.value.isRoot })),
  ];
  // Whoever is stopped by the rules has passed the permissions.
  return byRules.length > 0 && verdicts.every(({ status }) => status === "ok")
    ? skipped(`the cgroup's device rules refuse ${listPaths(byRules)}: see container.cgroup-devices`)
    : worstVerdict(verdicts);
}

function findMissing(
  { kernelGpus }: DriverFiles,
  nodes: readonly NodeFile[],
  isContainer: boolean,
): CheckVerdict[] {
  const fix = isContainer ? GIVE_GPUS : MAKE_NODES;
  const has = (kind: string) => nodes.some(({ node }) => node.kind === kind);
  const verdicts: CheckVerdict[] = [];
  if (!has("control")) verdicts.push(finding(["there is no /dev/nvidiactl"], fix));
  if (!has("uvm")) {
    verdicts.push(finding(["there is no /dev/nvidia-uvm: CUDA does not start without it"], fix));
  }
  if (!kernelGpus.ok) return [...verdicts, unseen("which GPUs the driver has", kernelGpus)];
  for (const { minor } of kernelGpus.value) {
    if (!minor.ok) verdicts.push(unseen("the number of a GPU's device node", minor));
    else if (!nodes.some(({ node }) => node.kind === "gpu" && node.minor === minor.value)) {
      verdicts.push(finding([`there is no /dev/nvidia${minor.value}`], fix));
    }
  }
  return verdicts;
}

function judgeNode(
  { path, access, isForEverybody, permissions, isCurrent }: NodeFile,
  { isContainer, isRoot }: { readonly isContainer: boolean; readonly isRoot: boolean },
): CheckVerdict {
  if (!access.ok) return unseen(`whether ${path} may be opened`, access);
  if (!isCurrent.ok) return unseen(`whether ${path} is a node of the loaded driver`, isCurrent);
  if (!isCurrent.value) {
    return finding(
      [`${path} has a device number that the loaded driver does not have: it was made before the driver was reloaded`],
      isContainer
        ? "make the container anew"
        : `remove it and make it again: sudo rm ${path}, then sudo nvidia-modprobe -u -c=0`,
    );
  }
  switch (access.value) {
    case "refused":
      return finding(
        [`this user may not open ${path} (owner, group and mode ${permissions})`],
        "put the user into the node's group (sudo usermod -aG GROUP USER, then log in again), or open it for all with the " +
          "module's option NVreg_DeviceFileMode=0666",
      );
    case "refused-by-rules":
    case "granted":
      return fine(
        isRoot && !isForEverybody
          ? `root may open ${path}; other users only as owner, group and mode ${permissions} let them`
          : `this user may open ${path}`,
      );
  }
}

function listPaths(nodes: readonly NodeFile[]): string {
  return nodes.map(({ path }) => path).join(", ");
}

function judgeRules(facts: DoctorFacts, { nodes }: DriverFiles): CheckVerdict {
  if (!nodes.ok) return unseen("which device nodes there are", nodes);
  if (nodes.value.length === 0) return skipped("there are no device nodes: see devices.permissions");
  const refused = nodes.value.filter(({ access }) => valueOf(access) === "refused-by-rules");
  if (refused.length > 0) {
    return finding(
      [
        `${listPaths(refused)}: the cgroup's device rules refuse what the file permissions allow`,
      ],
      isInContainer(facts)
        ? "make the container anew; to keep it from happening again, on the host: sudo nvidia-ctk system " +
          "create-dev-char-symlinks --create-all, or hand the GPUs over by CDI"
        : "leave the unit or job whose device rules these are (DeviceAllow= of systemd, ConstrainDevices of Slurm), or allow them there",
    );
  }
  const unread = nodes.value.flatMap(({ path, access }) =>
    access.ok ? [] : [unseen(`whether ${path} may be opened`, access)]
  );
  const [first] = unread;
  if (first !== undefined) return worstVerdict(unread);
  // Who is stopped by the file's permissions is not told what the rules would say.
  const hidden = nodes.value.filter(({ access }) => valueOf(access) === "refused");
  return hidden.length > 0
    ? skipped(
      `the permissions of ${plural(hidden.length, "node")} refuse this user already: see devices.permissions`,
    )
    : fine(`the rules refuse none of ${plural(nodes.value.length, "device node")}`);
}
