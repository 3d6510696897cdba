/** `nvidia-smi -L`: index, name and UUID of each GPU, its MIG devices below it. */
import type { ProblemLog } from "./problem_log.ts";
import { emptyGpu, emptyPart, type LineFormat, type RawExtent, type RawMigDevice } from "./raw.ts";

const GPU_LINE = /^GPU (\d{1,5}): (.{1,200}) \(UUID: (GPU-[\w-]{4,90})\)$/;
/** Since R470 the UUID stands for the instances; before, it was `MIG-GPU-…/GI/CI`. */
const MIG_LINE = /^MIG (\S{1,40})\s+Device\s+(\d{1,4}): \(UUID: (MIG-[\w/-]{4,92})\)$/;
const OLD_MIG_UUID = /^MIG-GPU-[\w-]+\/(\d{1,4})\/(\d{1,4})$/;

/** The list of GPUs. */
export const GPU_LIST_FORMAT: LineFormat = {
  begins: (lines, at) => GPU_LINE.test((lines[at] ?? "").trim()),
  read(lines, at): RawExtent {
    const part = emptyPart("gpu-list", at);
    let line = at;
    for (; line < lines.length; line++) {
      const text = (lines[line] ?? "").trim();
      const [, index, name, uuid] = GPU_LINE.exec(text) ?? [];
      if (index !== undefined && name !== undefined && uuid !== undefined) {
        // Each line of `-L` shows its MIG devices, so a GPU without any has none.
        part.gpus.push({ ...emptyGpu(line, [["index", index], ["name", name], ["uuid", uuid]]), mig: [] });
      } else if (text.startsWith("MIG ")) readMig(part.gpus.at(-1)?.mig, text, line, part.problems);
      else break;
    }
    return { part, end: line };
  },
};

function readMig(
  devices: RawMigDevice[] | undefined,
  text: string,
  line: number,
  problems: ProblemLog,
): void {
  const [, profile, device, uuid] = MIG_LINE.exec(text) ?? [];
  if (!devices || profile === undefined || uuid === undefined) {
    return problems.addLine(line + 1, text, "a MIG device");
  }
  const [, gpuInstance, computeInstance] = OLD_MIG_UUID.exec(uuid) ?? [];
  devices.push({
    device,
    gpuInstance,
    computeInstance,
    fields: new Map([["uuid", uuid], ["profile", profile]]),
  });
}
