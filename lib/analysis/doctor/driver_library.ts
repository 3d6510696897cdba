/** Can programs load the driver's libraries, and does it answer them? */
import { type Absent, formatAbsent, type Reading } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { DriverFiles, LibraryFile } from "../../model/doctor_facts.ts";
import type { DriverReport } from "../../model/gpu.ts";
import {
  type CheckPlan,
  type DoctorFacts,
  findAnswer,
  isInContainer,
  reasonOf,
  withDriver,
  wordsOf,
} from "./facts.ts";
import { finding, fine, unknown, unseen, worstVerdict } from "./verdict.ts";

export const LIBRARY_LOADABLE: CheckPlan = {
  id: "library.loadable",
  title: "the driver's libraries are where programs look for them",
  explanation:
    "nvidia-smi and all monitors load libnvidia-ml, everything that computes loads libcuda. They come " +
    "with the driver, into a container with the container toolkit.",
  reads: ["driver", "machine"],
  judge: (facts) =>
    withDriver(facts, (driver) => judgeLibraries(driver, { isContainer: isInContainer(facts) })),
};

export const DRIVER_ANSWERS: CheckPlan = {
  id: "driver.answers",
  title: "the driver answers in time",
  explanation:
    "A driver that hangs takes every program with it that asks. gpuctl asks in a process of its own, once.",
  reads: ["driver", "look"],
  judge: judgeAnswer,
};

function judgeLibraries(
  { managementLibraries, cudaLibraries }: DriverFiles,
  { isContainer }: { readonly isContainer: boolean },
): CheckVerdict {
  return worstVerdict([
    judgeLibrary(managementLibraries, {
      name: "libnvidia-ml.so.1",
      fix: isContainer
        ? "start the container with GPUs (docker run --gpus all) and with utility among NVIDIA_DRIVER_CAPABILITIES"
        : "install the part of the driver that is for programs, of the module's own version",
    }),
    judgeLibrary(cudaLibraries, {
      name: "libcuda.so.1",
      fix: isContainer
        ? "start the container with GPUs (docker run --gpus all) and with compute among NVIDIA_DRIVER_CAPABILITIES"
        : "install the driver's CUDA library (libcuda1, libnvidia-compute, nvidia-driver-cuda-libs), of the module's own version",
    }),
  ]);
}

function judgeLibrary(
  files: Reading<readonly LibraryFile[]>,
  { name, fix }: { readonly name: string; readonly fix: string },
): CheckVerdict {
  if (!files.ok) return unseen(`where ${name} lies`, files);
  const [first] = files.value;
  return first === undefined
    ? finding([`${name} is in none of the places where drivers put it`], fix)
    : fine(`${first.path} is there`);
}

function judgeAnswer(facts: DoctorFacts): CheckVerdict {
  const answer = findAnswer(facts);
  if (answer !== undefined) return judgeGpus(answer.report);
  return withDriver(facts, () => judgeSilence(reasonOf(facts)));
}

function judgeSilence(reason: Absent): CheckVerdict {
  const said = `it cannot be asked: ${wordsOf(reason)}`;
  switch (reason.why) {
    case "timed-out":
      return finding(
        [said],
        "look into the kernel log (sudo dmesg | grep -i -e nvrm -e xid) and start no further nvidia-smi: each would hang as " +
          "well. If it stays so for minutes, only a reboot helps",
      );
    case "no-permission":
      return finding([said], "see devices.permissions and container.cgroup-devices");
    case "failed":
    case "not-supported":
      return finding([said], "see the checks above; the kernel log has the rest: sudo dmesg | grep -i nvrm");
    default:
      return unknown([said]);
  }
}

function judgeGpus(
  { gpus, unreadableGpus }: DriverReport,
): CheckVerdict {
  const answered = `it answers for ${plural(gpus.length, "GPU")}`;
  if (unreadableGpus.length > 0) {
    return finding(
      [
        ...unreadableGpus.map(({ index, reason }) =>
          `GPU ${index} cannot be opened: ${formatAbsent(reason)}`
        ),
        answered,
      ],
      "see reset.needed and xid.history",
    );
  }
  return gpus.length > 0 ? fine(answered) : finding(
    ["it answers, and shows no GPU"],
    "look into the kernel log for cards that did not start (sudo dmesg | grep -i nvrm); in a container, see that it was " +
      "given GPUs",
  );
}
