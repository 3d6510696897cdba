/** Says to a person what CUDA makes of CUDA_VISIBLE_DEVICES, entry by entry. */
import { plural, printable, truncate } from "../core/text.ts";
import type {
  ListEnd,
  NamedEntry,
  VisibleDevice,
  VisibleDevices,
  VisibleDoubt,
  VisibleMachine,
} from "./visible_devices.ts";
import { LONGEST_VALUE_BYTES } from "./visible_entries.ts";

/** Longer entries are cut: they come from somebody else's environment. */
const SHOWN_CHARACTERS = 60;

const DOUBTS: Readonly<Record<VisibleDoubt, string>> = {
  "mixed-models":
    "The models differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID, so CUDA counts from the GPU that it takes for the fastest: which GPU a number names is not certain",
  "models-unread":
    "CUDA_DEVICE_ORDER is not PCI_BUS_ID and the models could not all be read: which GPU a number names is not certain",
  "gpu-unread": "The driver counts a GPU that could not be read, so numbers may mean other GPUs",
  mig: "A GPU is in MIG mode or may be: CUDA gives a process one MIG device, and which one is not certain",
};

/** One sentence for each thing worth knowing: what each entry does, why the list ended, what the process gets, what is uncertain. */
export function explainVisibleDevices(visible: VisibleDevices, machine: VisibleMachine): readonly string[] {
  const last = visible.entries.at(-1);
  return [
    ...visible.entries.flatMap((named) => explainEntry(named, machine)),
    ...explainEnd(visible.end, last, machine),
    sumUp(visible, machine),
    ...visible.doubts.map((doubt) => DOUBTS[doubt]),
  ];
}

/** `GPU 1`, with its MIG device where that is what is meant. */
export function nameDevice(device: VisibleDevice, { gpus }: Pick<VisibleMachine, "gpus">): string {
  const gpu = gpus.find(({ uuid }) => uuid === device.gpu);
  const name = gpu ? `GPU ${gpu.index}` : printable(device.gpu);
  return device.mig === undefined ? name : `${printable(device.mig)} on ${name}`;
}

function explainEntry({ entry, device }: NamedEntry, machine: VisibleMachine): readonly string[] {
  if (entry.kind === "bad" || device === undefined) return [];
  const names = `${quote(entry.text)} names ${nameDevice(device, machine)}`;
  if (entry.kind === "mig-path" || entry.ignored === "") return [names];
  const isBlank = entry.ignored.trim() === "";
  const separates = /^\s/.test(entry.ignored) && !isBlank ? "; only a comma separates entries" : "";
  return [isBlank ? names : `${names}; CUDA ignores ${quote(entry.ignored)} behind it${separates}`];
}

function explainEnd(
  end: ListEnd,
  last: NamedEntry | undefined,
  machine: VisibleMachine,
): readonly string[] {
  const text = last === undefined ? "" : quote(last.entry.text);
  const stop = `The list ends at ${text}, and what follows is not read`;
  switch (end) {
    case "complete":
      return [];
    case "unset":
      return ["CUDA_VISIBLE_DEVICES is not set, so CUDA shows every GPU"];
    case "too-long":
      return [
        `CUDA_VISIBLE_DEVICES is longer than the ${LONGEST_VALUE_BYTES} bytes that CUDA reads, so CUDA ignores it and shows every GPU`,
      ];
    case "no-value":
      return ["CUDA_VISIBLE_DEVICES is set to nothing, which hides every GPU"];
    case "bad-device-order":
      return [
        `CUDA_DEVICE_ORDER is ${
          quote(machine.deviceOrder ?? "")
        }; CUDA knows only PCI_BUS_ID and FASTEST_FIRST, and fails`,
      ];
    case "duplicate":
      return [`${text} names a GPU that the list has already; CUDA then refuses the whole list`];
    case "out-of-range":
      return [`${stop}: this machine has ${plural(machine.gpus.length, "GPU")}, counted from 0`];
    case "unknown-uuid":
      return [`${stop}: no GPU here has a UUID that begins so`];
    case "ambiguous-uuid":
      return [`${stop}: more than one GPU has a UUID that begins so`];
    case "mig-limit":
      return [`${stop}: a process gets one MIG device`];
    case "empty":
      return ["The list ends at an empty entry, and what follows is not read"];
    case "negative":
      return [`${stop}: a negative number means "no more"`];
    case "no-dev-files":
      return [`${stop}: NoDevFiles means "no GPU"`];
    case "other-form":
      return [`${stop}: numbers and UUIDs do not mix, and the first entry decides`];
    case "not-a-device":
      return [`${stop}: it is neither a number nor a UUID that begins with GPU- or MIG-`];
    case "not-a-uuid":
      return [`${stop}: GPU- or MIG- needs the digits of a UUID behind it`];
  }
}

function sumUp({ devices, isError }: VisibleDevices, machine: VisibleMachine): string {
  if (isError) return "The process gets no GPU: CUDA fails with CUDA_ERROR_INVALID_DEVICE";
  if (devices.length === 0) return "The process gets no GPU";
  const [first = "", ...others] = devices.map((device) => nameDevice(device, machine));
  return others.length === 0
    ? `The process gets ${first} as its device 0`
    : `The process gets ${first} as its device 0, then ${others.join(", ")}`;
}

function quote(text: string): string {
  return `"${printable(truncate(text, SHOWN_CHARACTERS))}"`;
}
