/** `nvidia-smi -q`: keys and values under headings, each level indented by four. Keys are matched by name, never by place. */
import { absent } from "../../core/reading.ts";
import { CUT_VALUE } from "./clean.ts";
import {
  emptyGpu,
  emptyListing,
  emptyMigDevice,
  emptyPart,
  type LineFormat,
  type RawExtent,
  type RawGpu,
  type RawMigDevice,
  type RawPart,
} from "./raw.ts";
import { findStamp } from "./stamps.ts";
import { findAbsence } from "./values.ts";

const LOG_LINE = /^=+\s?NVSMI LOG\s?=+$/;
const GPU_LINE = /^GPU ((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])$/;

const MACHINE_KEYS: ReadonlyMap<string, string> = new Map([
  ["Driver Version", "driver_version"],
  ["KMD Version", "driver_version"],
  ["CUDA Version", "cuda_version"],
  ["CUDA UMD Version", "cuda_version"],
  ["Attached GPUs", "attached_gpus"],
]);

/** Keys by their heading; the empty heading means any. */
const GPU_KEYS: ReadonlyMap<string, string> = new Map([
  ["/Product Name", "name"],
  ["/GPU UUID", "uuid"],
  ["/Minor Number", "minor_number"],
  ["/Display Active", "display_active"],
  ["/Persistence Mode", "persistence_mode"],
  ["/Compute Mode", "compute_mode"],
  ["/GPU Recovery Action", "gpu_recovery_action"],
  ["GPU Reset Status/Reset Required", "reset_status.reset_required"],
  ["GPU Reset Status/Drain and Reset Recommended", "reset_status.drain_and_reset_recommended"],
  ["MIG Mode/Current", "mig.mode.current"],
  ["MIG Mode/Pending", "mig.mode.pending"],
  ["FB Memory Usage/Total", "memory.total"],
  ["FB Memory Usage/Reserved", "memory.reserved"],
  ["FB Memory Usage/Used", "memory.used"],
  ["FB Memory Usage/Free", "memory.free"],
  ["Utilization/Gpu", "utilization.gpu"],
  ["Utilization/GPU", "utilization.gpu"],
]);

const PROCESS_KEYS: ReadonlyMap<string, "type" | "name" | "memory"> = new Map([
  ["Type", "type"],
  ["Name", "name"],
  ["Used GPU Memory", "memory"],
]);

/** `-q`, whole or some of its sections (`-d MEMORY,PIDS`). */
export const QUERY_TEXT_FORMAT: LineFormat = {
  begins(lines, at) {
    const text = (lines[at] ?? "").trimEnd();
    if (LOG_LINE.test(text.trim())) return true;
    return GPU_LINE.test(text) && isEntry(lines[at + 1]);
  },
  read(lines, at): RawExtent {
    const reader = new QueryReader(at);
    let end = at;
    for (let line = at; line < lines.length; line++) {
      const text = lines[line] ?? "";
      if (line > at && LOG_LINE.test(text.trim())) break;
      if (text.trim() === "") continue;
      if (!reader.read(text, line, lines[line + 1] ?? "")) break;
      end = line;
    }
    return { part: reader.finish(), end: end + 1 };
  },
};

class QueryReader {
  readonly #part: RawPart;
  #gpu: RawGpu | undefined;
  #mig: { readonly device: RawMigDevice; readonly indent: number } | undefined;
  #heading = "";
  #instances: { gpuInstance?: string; computeInstance?: string } = {};
  /** Whether the text has lost its indentation. */
  #isFlat = false;
  /** Whether memory may be a MIG device's or its GPU's, with nothing to tell which. */
  #isAmbiguous = false;

  constructor(line: number) {
    this.#part = emptyPart("query-text", line);
  }

  /** Whether the line was part of the output. */
  read(text: string, line: number, following: string): boolean {
    const words = text.trim();
    const busId = GPU_LINE.exec(words)?.[1];
    if (busId !== undefined) {
      this.#isFlat = /^\S/.test(following) && /^\S/.test(text);
      return this.#startGpu(busId, line);
    }
    if (LOG_LINE.test(words)) return true;
    const indent = text.length - text.trimStart().length;
    const at = words.endsWith(" :") ? words.length - 2 : words.indexOf(" : ");
    if (at === -1 && !this.#canBeHeading(words, indent)) return false;
    if (this.#mig && indent <= this.#mig.indent) this.#mig = undefined;
    if (at === -1) this.#startHeading(words, indent, line);
    else this.#readValue(words.slice(0, at).trim(), words.slice(at + 2).trim(), line);
    return true;
  }

  finish(): RawPart {
    const { gpus, machine } = this.#part;
    if (this.#gpu?.listing && this.#heading === "Processes") this.#gpu.listing.isLast = true;
    // All of them are shown in the order of their index, unless `-i` chose some.
    if (machine.get("attached_gpus") === String(gpus.length)) {
      for (const [index, gpu] of gpus.entries()) gpu.fields.set("index", String(index));
    }
    return this.#part;
  }

  /** A line without a value below a GPU; at the margin only where the whole text stands there. */
  #canBeHeading(words: string, indent: number): boolean {
    if (!this.#gpu) return false;
    return indent > 0 || (this.#isFlat && /^[A-Z][\w ./-]{1,60}$/.test(words));
  }

  #startGpu(busId: string, line: number): true {
    this.#gpu = emptyGpu(line, [["pci.bus_id", busId]]);
    this.#part.gpus.push(this.#gpu);
    this.#mig = undefined;
    this.#heading = "";
    this.#isAmbiguous = false;
    return true;
  }

  #startHeading(words: string, indent: number, line: number): void {
    if (words.endsWith(CUT_VALUE)) return;
    if (words === "MIG Device" && this.#gpu) {
      this.#gpu.mig ??= [];
      this.#mig = { device: emptyMigDevice(), indent };
      if (!this.#isFlat) this.#gpu.mig.push(this.#mig.device);
      else if (!this.#isAmbiguous) {
        this.#isAmbiguous = true;
        for (const name of [...this.#gpu.fields.keys()]) {
          if (name.startsWith("memory.")) this.#gpu.fields.delete(name);
        }
        this.#part.problems.addLine(
          line + 1,
          words,
          "indentation, to tell a MIG device's memory from its GPU's",
        );
      }
    }
    if (words === "Processes" && this.#gpu) this.#gpu.listing = emptyListing("all");
    this.#heading = words.startsWith("Shared ") ? words.slice("Shared ".length) : words;
  }

  #readValue(key: string, value: string, line: number): void {
    if (!this.#gpu) {
      const name = MACHINE_KEYS.get(key);
      if (name !== undefined) this.#part.machine.set(name, value);
      if (key === "Timestamp") this.#part.takenAt = findStamp(value);
      return;
    }
    if (this.#mig) return this.#readMig(this.#mig.device, key, value);
    if (key === "Processes") return this.#readListing(this.#gpu, value);
    if (this.#gpu.listing && this.#heading === "Processes") {
      return this.#readProcess(this.#gpu, key, value, line);
    }
    const field = GPU_KEYS.get(`${this.#heading}/${key}`) ?? GPU_KEYS.get(`/${key}`);
    if (field === undefined || this.#gpu.fields.has(field)) return;
    if (!this.#isAmbiguous || !field.startsWith("memory.")) this.#gpu.fields.set(field, value);
  }

  #readMig(device: RawMigDevice, key: string, value: string): void {
    if (this.#heading !== "MIG Device") {
      const field = GPU_KEYS.get(`${this.#heading}/${key}`);
      if (field?.startsWith("memory.")) device.fields.set(field, value);
    } else if (key === "Index") device.device = value;
    else if (key === "GPU Instance ID") device.gpuInstance = value;
    else if (key === "Compute Instance ID") device.computeInstance = value;
    else if (key === "MIG UUID" || key === "UUID") device.fields.set("uuid", value);
  }

  #readListing(gpu: RawGpu, value: string): void {
    const reason = findAbsence(value) ?? absent("implausible", value);
    gpu.listing = value === "None" ? emptyListing("all") : { ...emptyListing("unread"), reason };
    this.#heading = "";
  }

  #readProcess(gpu: RawGpu, key: string, value: string, line: number): void {
    const rows = gpu.listing?.rows ?? [];
    const last = rows.at(-1);
    const field = PROCESS_KEYS.get(key);
    if (/^GPU instance ID$/i.test(key)) this.#instances = { gpuInstance: value };
    else if (/^Compute instance ID$/i.test(key)) this.#instances.computeInstance = value;
    else if (key === "Process ID") {
      rows.push({ line, pid: value, ...this.#instances });
      this.#instances = {};
    } else if (field !== undefined) {
      // A value that comes first, or again, is of a process whose pid is missing, and of none that is there.
      if (last === undefined || last[field] !== undefined) rows.push({ line, pid: "", [field]: value });
      else rows[rows.length - 1] = { ...last, [field]: value };
    }
  }
}

function isEntry(line: string | undefined): boolean {
  const text = line ?? "";
  return /^\s{2,}\S/.test(text) || text.includes(" : ");
}
