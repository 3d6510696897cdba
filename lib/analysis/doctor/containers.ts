/** Can containers on this machine be given GPUs? */
import { quoteArguments } from "../../core/text.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { CdiSpec, ContainerTools, DriverFiles } from "../../model/doctor_facts.ts";
import { sameVersion } from "../driver_version.ts";
import { type CheckPlan, type DoctorFacts, withDriver } from "./facts.ts";
import { finding, fine, skipped, unseen, worstVerdict } from "./verdict.ts";

export const CONTAINER_TOOLKIT: CheckPlan = {
  id: "container.toolkit",
  title: "containers can be given GPUs",
  explanation:
    "The container toolkit puts the device nodes and the driver's libraries into a container. A description of " +
    "devices (CDI) names files of one driver version, and is to be made anew with every update.",
  reads: ["driver", "machine", "containers"],
  judge: (facts) => withDriver(facts, (driver) => judgeToolkit(facts, driver)),
};

/** How to describe the devices, in this file. */
function describeIn(path: string): string {
  const command = quoteArguments(["sudo", "nvidia-ctk", "cdi", "generate", `--output=${path}`]);
  return `describe the devices anew: ${command}`;
}

function judgeToolkit(facts: DoctorFacts, { moduleVersion }: DriverFiles): CheckVerdict {
  const { machine, containers } = facts;
  if (!machine.ok) return unseen("whether this is a container", machine);
  if (!machine.value.isContainer.ok) return unseen("whether this is a container", machine.value.isContainer);
  if (machine.value.isContainer.value) {
    return skipped("this is a container: what gives it its GPUs shows on the host");
  }
  if (!containers.ok) return unseen("what is installed for containers", containers);
  const { engines, toolkit, cdiSpecs } = containers.value;
  if (engines.length === 0) return skipped("no container engine is installed");
  if (toolkit.length === 0) return judgeWithoutToolkit(containers.value);
  if (!cdiSpecs.ok) return unseen("which devices are described for containers", cdiSpecs);
  return worstVerdict([
    fine(`${engines.join(", ")} and the container toolkit (${toolkit.join(", ")}) are installed`),
    ...cdiSpecs.value.map((spec) => judgeSpec(spec, moduleVersion)),
  ]);
}

function judgeWithoutToolkit({ engines }: ContainerTools): CheckVerdict {
  return finding(
    [`${engines.join(", ")} ${
      engines.length === 1 ? "is" : "are"
    } installed, and the NVIDIA container toolkit is not`],
    engines.includes("docker")
      ? "install nvidia-container-toolkit, then: sudo nvidia-ctk runtime configure --runtime=docker, and restart docker"
      : `install nvidia-container-toolkit, then ${describeIn("/etc/cdi/nvidia.yaml")}`,
  );
}

function judgeSpec(
  { path, driverVersions }: CdiSpec,
  moduleVersion: DriverFiles["moduleVersion"],
): CheckVerdict {
  if (!driverVersions.ok) return unseen(`what ${path} describes`, driverVersions);
  if (!moduleVersion.ok) return unseen("the version of the loaded module", moduleVersion);
  const other = driverVersions.value.find((version) => !sameVersion(version, moduleVersion.value));
  return other === undefined ? fine(`${path} describes devices for containers`) : finding(
    [`${path} names files of driver ${other}, and the loaded module is ${moduleVersion.value}`],
    describeIn(path),
  );
}
