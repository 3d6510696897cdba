/** `nvidia-smi --version`: four lines, of nvidia-smi itself, the library, the driver and CUDA. */
import { emptyPart, type LineFormat, type RawExtent } from "./raw.ts";

const LINE = /^(NVIDIA-SMI|NVML|DRIVER|KMD|CUDA|CUDA UMD) version\s*: (\S{1,40})$/i;
const NAMES: ReadonlyMap<string, string> = new Map([
  ["NVIDIA-SMI", "smi_version"],
  ["NVML", "nvml_version"],
  ["DRIVER", "driver_version"],
  ["KMD", "driver_version"],
  ["CUDA", "cuda_version"],
  ["CUDA UMD", "cuda_version"],
]);

/** The versions, without any GPU. */
export const VERSION_FORMAT: LineFormat = {
  begins: (lines, at) => /^NVIDIA-SMI version\s*: \d/i.test((lines[at] ?? "").trim()),
  read(lines, at): RawExtent {
    const part = emptyPart("version", at);
    let line = at;
    for (; line < lines.length; line++) {
      const [, name, version] = LINE.exec((lines[line] ?? "").trim()) ?? [];
      const field = NAMES.get(name?.toUpperCase() ?? "");
      if (field === undefined || version === undefined) break;
      part.machine.set(field, version);
    }
    return { part, end: Math.max(line, at + 1) };
  },
};
