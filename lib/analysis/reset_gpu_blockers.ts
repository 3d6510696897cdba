/** What stands in the way of a reset in the state of one GPU, and what of that state a reset throws away. */
import { formatAbsent, isTrue, type Reading } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import { contextsOf, type Gpu } from "../model/gpu.ts";
import type { Blocker, BlockerClearer, BlockerKind, GpuResetNeed } from "../model/reset.ts";
import { machineGpus, nameGpus, type ResetInput, scanOf } from "./reset_input.ts";

/** Words of a blocker in the order in which people read them: who, why, what to do. */
type Sentence = readonly [who: string, why: string, remedy: string];

/** Everything about the chosen GPUs themselves. */
export function findGpuBlockers(input: ResetInput, needs: readonly GpuResetNeed[]): Blocker[] {
  return input.gpus.flatMap((gpu) => [
    ...findIdentity(gpu, input),
    ...findDoubles(gpu, input),
    ...findReboot(gpu, needs),
    ...findPersistence(gpu),
    ...findDisplay(gpu, input),
    ...findMig(gpu),
    ...findVirtualization(gpu),
    ...findUnlisted(gpu, input),
    ...findLosses(gpu),
  ]);
}

/** nvidia-smi is told a GPU by its PCI address, and its users by its minor: without either nothing may be begun. */
function findIdentity(gpu: Gpu, { gpus }: ResetInput): Blocker[] {
  const found: Blocker[] = [];
  if (!gpu.busId.ok) {
    found.push(of(gpu, "driver", "nobody", [
      "PCI address",
      `it cannot be named to nvidia-smi: ${formatAbsent(gpu.busId)}`,
      "see what the driver says of it: gpuctl snapshot",
    ]));
  }
  if (!gpu.minor.ok) {
    found.push(of(gpu, "unseen-processes", "warning", [
      "device number",
      `which /dev/nvidiaN it is is not known, so users of ${
        gpus.length > 1 ? "others" : "any GPU"
      } are listed for it too`,
      "none needed",
    ]));
  }
  return found;
}

/** A GPU is named by its address, and its users are found by its number: what two share tells neither. */
function findDoubles(gpu: Gpu, input: ResetInput): Blocker[] {
  const others = machineGpus(input).filter((other) => other !== gpu);
  const sharing = [
    ["the UUID", others.filter(({ uuid }) => uuid === gpu.uuid)],
    ["the PCI address", others.filter(({ busId }) => isSameReading(busId, gpu.busId))],
    ["the device number", others.filter(({ minor }) => isSameReading(minor, gpu.minor))],
  ] as const;
  return sharing.filter(([, doubles]) => doubles.length > 0).map(([what, doubles]) =>
    of(gpu, "driver", "nobody", [
      "identity",
      `the driver gives ${what} of it to ${nameGpus(doubles)} too: which one is meant cannot be told`,
      "see what the driver says of them: gpuctl snapshot; if it stays, reboot",
    ])
  );
}

function isSameReading<T>(a: Reading<T>, b: Reading<T>): boolean {
  return a.ok && b.ok && a.value === b.value;
}

function findReboot(gpu: Gpu, needs: readonly GpuResetNeed[]): Blocker[] {
  const need = needs.find((each) => each.gpu === gpu.uuid);
  if (need?.advice !== "reboot") return [];
  return [of(gpu, "needs-reboot", "nobody", [
    "state of the GPU",
    need.reasons[0] ?? "a reset does not help it",
    "reboot the machine; if that does not help, cut its power",
  ])];
}

function findPersistence(gpu: Gpu): Blocker[] {
  const { persistenceMode: mode } = gpu;
  if (!mode.ok) {
    if (mode.why === "not-supported") return [];
    return [of(gpu, "persistence-mode", "warning", [
      "persistence mode",
      `whether it is on is not known (${formatAbsent(mode)}): on, it makes nvidia-smi refuse`,
      "if nvidia-smi refuses, switch it off: nvidia-smi -i <GPU> -pm 0",
    ])];
  }
  if (!mode.value) return [];
  return [of(gpu, "persistence-mode", "plan", [
    "persistence mode",
    "keeps the GPU in use with no process on it",
    "none needed: switched off before and on again after",
  ])];
}

function findDisplay(gpu: Gpu, { facts: { services, consoleGpus } }: ResetInput): Blocker[] {
  const found: Blocker[] = [];
  if (isTrue(gpu.displayActive)) {
    const manager = services.ok
      ? services.value.find(({ kind, isActive }) => kind === "display-manager" && isActive)
      : undefined;
    const why = "a display is driven by this GPU";
    found.push(
      manager === undefined
        ? of(gpu, "display", "nobody", ["display", why, "stop what draws on it, or detach it"])
        : {
          ...of(gpu, "display", "stop-services", ["display", why, `systemctl stop ${manager.unit}`]),
          unit: manager.unit,
        },
    );
  } else if (!gpu.displayActive.ok && gpu.displayActive.why !== "not-supported") {
    found.push(of(gpu, "display", "warning", [
      "display",
      `whether one is active is not known: ${formatAbsent(gpu.displayActive)}`,
      "none needed: nvidia-smi refuses if it is",
    ]));
  }
  if (!consoleGpus.ok) {
    found.push(of(gpu, "console", "warning", [
      "console",
      `whether the console is on it is not known: ${formatAbsent(consoleGpus)}`,
      "none needed: nvidia-smi refuses if it is",
    ]));
  } else if (gpu.busId.ok && consoleGpus.value.has(gpu.busId.value)) {
    found.push(of(gpu, "console", "nobody", [
      "console",
      "the firmware chose it as the primary GPU: nvidia-smi refuses to reset that one",
      "reboot; or choose another primary GPU in the firmware's set-up",
    ]));
  }
  return found;
}

function findMig(gpu: Gpu): Blocker[] {
  const { migMode, migInstances } = gpu;
  if (!migMode.ok) return [];
  const found: Blocker[] = [];
  if (migMode.value.current) {
    const count = migInstances.ok ? plural(migInstances.value.length, "MIG device") : "its MIG devices";
    found.push(of(gpu, "mig", "warning", [
      "MIG instances",
      `${count} ${migInstances.ok && migInstances.value.length === 1 ? "is" : "are"} lost by a reset`,
      "note the layout first: nvidia-smi mig -lgi; make them again afterwards",
    ]));
  }
  if (migMode.value.current !== migMode.value.pending) {
    found.push(of(gpu, "mig", "warning", [
      "MIG mode",
      `a reset turns it ${migMode.value.pending ? "on" : "off"}`,
      "none needed if that is meant; else set it first: nvidia-smi -mig",
    ]));
  }
  return found;
}

function findVirtualization(gpu: Gpu): Blocker[] {
  const mode = gpu.health?.virtualization;
  if (mode === undefined || !mode.ok) {
    if (mode?.why === "not-supported") return [];
    return [of(gpu, "vgpu", "warning", [
      "virtualization",
      `whether it serves virtual machines is not known${mode === undefined ? "" : `: ${formatAbsent(mode)}`}`,
      "none needed: nvidia-smi refuses if it does",
    ])];
  }
  switch (mode.value) {
    case "none":
      return [];
    case "passthrough":
      return [of(gpu, "vgpu", "warning", [
        "virtual machine",
        "the GPU was passed through: a reset works only if the hypervisor lets a guest reset it (FLR)",
        "if nvidia-smi refuses, restart the virtual machine",
      ])];
    case "vgpu-guest":
      return [of(gpu, "vgpu", "nobody", [
        "vGPU",
        "this is a part of a GPU that belongs to the host: a guest cannot reset it",
        "restart the virtual machine, or ask the host's administrator",
      ])];
    case "vgpu-host":
    case "vsga-host":
      return [of(gpu, "vgpu", "nobody", [
        "vGPU host mode",
        "virtual machines have parts of it: nvidia-smi refuses in vGPU mode",
        "shut the virtual machines down and take it out of vGPU mode",
      ])];
  }
}

/** Contexts whose pid is nobody alive. Whoever keeps one is listed by name, if he can be seen. */
function findUnlisted(gpu: Gpu, input: ResetInput): Blocker[] {
  const scan = scanOf(input);
  const listed = new Set(input.snapshot.holders.map(({ pid }) => pid));
  const dead = new Set(
    contextsOf(gpu.processList).map(({ pid }) => pid).filter((pid) =>
      !listed.has(pid) && scan?.reader.ownPids.includes(pid) !== true
    ),
  );
  const found = [...dead].map((pid) => ({
    ...of(gpu, "holder", "warning", [
      `PID ${pid}`,
      "is listed with memory and is not alive, or cannot be seen from here",
      "end who keeps its memory; if there is nobody, try the reset: nvidia-smi may refuse",
    ]),
    pid,
  }));
  if (gpu.processList.state === "known") return found;
  return [
    ...found,
    of(gpu, "unseen-processes", "warning", [
      "process list",
      `the driver's list is ${gpu.processList.state}: ${formatAbsent(gpu.processList.reason)}`,
      "none needed: who has it open was looked for in /proc",
    ]),
  ];
}

function findLosses(gpu: Gpu): Blocker[] {
  const mode = gpu.computeMode.ok && gpu.computeMode.value !== "default"
    ? `compute mode (${gpu.computeMode.value})`
    : "compute mode";
  return [of(gpu, "settings", "warning", [
    "settings",
    `power limit, locked and application clocks, ${mode} and accounting records are lost by a reset`,
    "note them first: nvidia-smi -q; set them again afterwards",
  ])];
}

function of(
  gpu: Gpu,
  kind: BlockerKind,
  clearedBy: BlockerClearer,
  [who, why, remedy]: Sentence,
): Blocker {
  return { gpu: gpu.uuid, kind, who, why, remedy, clearedBy };
}
