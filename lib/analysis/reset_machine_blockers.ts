/** What stands in the way of a reset in the machine as a whole. */
import { nameIndexes } from "../core/ranges.ts";
import { formatAbsent, isTrue } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import { contextsOf } from "../model/gpu.ts";
import { findSilence } from "../model/observation.ts";
import type { Blocker, BlockerClearer, BlockerKind } from "../model/reset.ts";
import { machineGpus, type ResetInput, scanOf } from "./reset_input.ts";

/** The first driver that lets compute work go on beside a reset, where GPUs can be reset alone (nvidia-smi(1)). */
const FIRST_TOLERANT_DRIVER = 550;

type Sentence = readonly [who: string, why: string, remedy: string];

/** Everything that concerns no GPU in particular. */
export function findMachineBlockers(input: ResetInput): Blocker[] {
  return [
    ...findRights(input),
    ...findDriver(input),
    ...findPlace(input),
    ...findPlatform(input),
    ...findUnseen(input),
    ...findServices(input),
    ...findWorkElsewhere(input),
  ];
}

/** What a mere reset of clocks needs: the rights, and a driver that answers. */
export function findClockBlockers(input: ResetInput): Blocker[] {
  const unnamed = input.gpus.filter(({ busId }) => !busId.ok).map(({ uuid }): Blocker => ({
    ...of("driver", "nobody", ["PCI address", "it cannot be named to nvidia-smi", "gpuctl snapshot"]),
    gpu: uuid,
  }));
  return [...findRights(input), ...findNoAnswer(input), ...unnamed];
}

function findRights({ flags: { isRoot } }: ResetInput): Blocker[] {
  if (isRoot) return [];
  return [
    of("not-root", "nobody", ["this user", "only root may reset a GPU", "run it as root: sudo gpuctl …"]),
  ];
}

function findDriver(input: ResetInput): Blocker[] {
  const { smiPath } = input;
  if (smiPath.ok) return findNoAnswer(input);
  return [
    ...findNoAnswer(input),
    of("driver", "nobody", [
      "nvidia-smi",
      `it does the reset and cannot be run: ${formatAbsent(smiPath)}`,
      "install the driver's tools",
    ]),
  ];
}

function findNoAnswer({ observation }: ResetInput): Blocker[] {
  const silence = findSilence(observation);
  if (silence === undefined) return [];
  return [
    of("driver", "nobody", [
      "driver",
      `it gives no answer: ${formatAbsent(silence)}`,
      "see the kernel log; if it stays silent, reboot",
    ]),
  ];
}

function findPlace(input: ResetInput): Blocker[] {
  const { facts: { isContainer } } = input;
  const isInitial = scanOf(input)?.reader.isInitialPidNamespace;
  if (isTrue(isInitial)) return isTrue(isContainer) ? [CONTAINER_OF_THE_HOST] : [];
  if (isTrue(isContainer) || isInitial?.ok) {
    return [of("container", "nobody", [
      "container",
      "from inside it processes of the host cannot be seen",
      "run gpuctl on the host",
    ])];
  }
  if (isContainer.ok) return [];
  return [of("container", "nobody", [
    "PID namespace",
    `whether every process can be seen from here is not known: ${formatAbsent(isContainer)}`,
    "run gpuctl as root on the host",
  ])];
}

/** With the host's PID namespace everybody is seen; the machine's services and kernel may still be out of reach. */
const CONTAINER_OF_THE_HOST = of("container", "warning", [
  "container",
  "gpuctl runs in one, or in a machine made of one's files: services of the host cannot be stopped from here",
  "none needed where it is a machine of its own; else run gpuctl on the host",
]);

function findPlatform({ facts: { platform } }: ResetInput): Blocker[] {
  if (!platform.ok) {
    return [of("platform", "warning", [
      "kind of machine",
      `it is not known: ${formatAbsent(platform)}`,
      "none needed: nvidia-smi refuses where a reset is not supported",
    ])];
  }
  switch (platform.value) {
    case "bare-metal":
      return [];
    case "virtual-machine":
      return [of("platform", "warning", [
        "virtual machine",
        "a reset works only if the hypervisor lets a guest reset its GPU (FLR)",
        "if nvidia-smi refuses, restart the virtual machine",
      ])];
    case "wsl":
      return [of("platform", "nobody", [
        "WSL",
        "the GPU belongs to Windows: it cannot be reset from here",
        "wsl --shutdown; if that does not help, restart Windows",
      ])];
    case "tegra":
      return [of("platform", "nobody", [
        "Tegra",
        "its GPU is a part of the processor: it has no reset of its own",
        "reboot",
      ])];
  }
}

function findUnseen({ observation: { scan } }: ResetInput): Blocker[] {
  if (!scan.ok) {
    return [of("unseen-processes", "nobody", [
      "all processes",
      `they could not be looked at: ${formatAbsent(scan)}`,
      "run gpuctl on the machine itself",
    ])];
  }
  const { coverage, reader } = scan.value;
  const found: Blocker[] = [];
  if (coverage.unreadable > 0) {
    // A sandbox keeps a few from root as well. All the others were seen, and nvidia-smi refuses if one of those uses it.
    const isMinor = reader.isRoot && coverage.cutShort === undefined && isTrue(reader.isInitialPidNamespace);
    found.push(of("unseen-processes", isMinor ? "warning" : "nobody", [
      `${coverage.unreadable} of ${plural(coverage.processes, "process", "processes")}`,
      "what they have open cannot be listed: one of them may use the GPU",
      isMinor
        ? "none needed: nvidia-smi refuses if one of them does"
        : "run it as root, on the machine itself",
    ]));
  }
  if (coverage.cutShort) {
    found.push(of("unseen-processes", "nobody", [
      "some processes",
      `not every process was looked at: ${formatAbsent(coverage.cutShort)}`,
      "look again with a longer --deadline",
    ]));
  }
  return found;
}

function findServices({ facts: { services } }: ResetInput): Blocker[] {
  if (!services.ok) {
    return [of("service", "warning", [
      "services",
      `which ones run is not known: ${formatAbsent(services)}`,
      "none needed: a process of theirs that has the GPU open is listed",
    ])];
  }
  return services.value.filter(({ kind, isActive }) => kind === "imex" && isActive).map(({ unit }) =>
    of("imex", "warning", [
      unit,
      "memory may be exported to other nodes, which lose it",
      "end the multi-node jobs first",
    ])
  );
}

/** Drivers before 550 want no compute work on any GPU where GPUs are linked. */
function findWorkElsewhere(input: ResetInput): Blocker[] {
  const { observation: { report } } = input;
  if (!report.ok || !report.value.driver.version.ok) return [];
  const version = report.value.driver.version.value;
  if (Number.parseInt(version, 10) >= FIRST_TOLERANT_DRIVER) return [];
  const busy = machineGpus(input).filter((gpu) =>
    !input.gpus.some(({ uuid }) => uuid === gpu.uuid) && contextsOf(gpu.processList).length > 0
  );
  if (busy.length === 0) return [];
  return [of("holder", "warning", [
    `work on ${nameIndexes(busy.map(({ index }) => index))}`,
    `driver ${version} may refuse while any GPU computes`,
    "if nvidia-smi refuses, wait until those jobs have ended",
  ])];
}

function of(kind: BlockerKind, clearedBy: BlockerClearer, [who, why, remedy]: Sentence): Blocker {
  return { kind, who, why, remedy, clearedBy };
}
