/** `nvidia-smi -q -x` of every DTD: elements by name, unknown ones ignored, missing ones missing. */
import { SaxesParser } from "saxes";
import { absent } from "../../core/reading.ts";
import {
  emptyGpu,
  emptyListing,
  emptyMigDevice,
  emptyPart,
  type RawGpu,
  type RawMigDevice,
  type RawPart,
} from "./raw.ts";
import { findStamp } from "./stamps.ts";
import { findAbsence } from "./values.ts";

/** The deepest element of any DTD lies 8 levels down. */
const DEEPEST = 32;

/** What an element is to us; a field has the name that the rest of this directory gives it. */
type Role =
  | "machine"
  | "timestamp"
  | "gpu"
  | "gpu-field"
  | "listing"
  | "process"
  | "process-field"
  | "mig-list"
  | "mig"
  | "mig-field";

/** An element that we know, at its place. */
interface Place {
  role?: Role;
  field?: string;
  readonly children: Map<string, Place>;
}

/** `reserved` is there since 510, `gpu_reset_status` from 535 to 575, `gpu_recovery_action` since 570. */
const PLACES: readonly (readonly [path: string, role: Role, field?: string])[] = [
  ["timestamp", "timestamp"],
  ["driver_version", "machine", "driver_version"],
  ["kmd_version", "machine", "driver_version"],
  ["cuda_version", "machine", "cuda_version"],
  ["cuda_umd_version", "machine", "cuda_version"],
  ["attached_gpus", "machine", "attached_gpus"],
  ["gpu", "gpu"],
  ["gpu/product_name", "gpu-field", "name"],
  ["gpu/uuid", "gpu-field", "uuid"],
  ["gpu/minor_number", "gpu-field", "minor_number"],
  ["gpu/pci/pci_bus_id", "gpu-field", "pci.bus_id"],
  ["gpu/display_active", "gpu-field", "display_active"],
  ["gpu/persistence_mode", "gpu-field", "persistence_mode"],
  ["gpu/compute_mode", "gpu-field", "compute_mode"],
  ["gpu/gpu_recovery_action", "gpu-field", "gpu_recovery_action"],
  ["gpu/gpu_reset_status/reset_required", "gpu-field", "reset_status.reset_required"],
  [
    "gpu/gpu_reset_status/drain_and_reset_recommended",
    "gpu-field",
    "reset_status.drain_and_reset_recommended",
  ],
  ["gpu/mig_mode/current_mig", "gpu-field", "mig.mode.current"],
  ["gpu/mig_mode/pending_mig", "gpu-field", "mig.mode.pending"],
  ["gpu/fb_memory_usage/total", "gpu-field", "memory.total"],
  ["gpu/fb_memory_usage/reserved", "gpu-field", "memory.reserved"],
  ["gpu/fb_memory_usage/used", "gpu-field", "memory.used"],
  ["gpu/fb_memory_usage/free", "gpu-field", "memory.free"],
  ["gpu/utilization/gpu_util", "gpu-field", "utilization.gpu"],
  ["gpu/mig_devices", "mig-list"],
  ["gpu/mig_devices/mig_device", "mig"],
  ["gpu/mig_devices/mig_device/index", "mig-field", "index"],
  ["gpu/mig_devices/mig_device/uuid", "mig-field", "uuid"],
  ["gpu/mig_devices/mig_device/gpu_instance_id", "mig-field", "gpu_instance"],
  ["gpu/mig_devices/mig_device/compute_instance_id", "mig-field", "compute_instance"],
  ["gpu/mig_devices/mig_device/fb_memory_usage/total", "mig-field", "memory.total"],
  ["gpu/mig_devices/mig_device/fb_memory_usage/used", "mig-field", "memory.used"],
  ["gpu/processes", "listing"],
  ["gpu/processes/process_info", "process"],
  ["gpu/processes/process_info/pid", "process-field", "pid"],
  ["gpu/processes/process_info/type", "process-field", "type"],
  ["gpu/processes/process_info/process_name", "process-field", "name"],
  ["gpu/processes/process_info/used_memory", "process-field", "memory"],
  ["gpu/processes/process_info/gpu_instance_id", "process-field", "gpuInstance"],
  ["gpu/processes/process_info/compute_instance_id", "process-field", "computeInstance"],
];

/**
 * Reads one document. `line` is its first line in the whole text, from 0.
 *
 * @throws {SyntaxError} if it is cut off, not well-formed, or defines entities; the message has line and column.
 */
export function parseQueryXml(text: string, line: number): RawPart {
  const parser = new SaxesParser({ xmlns: false, position: true });
  const document = new XmlDocument(line);
  const refuse = (reason: string): never => {
    const place = `line ${parser.line + line}, column ${parser.column + 1}`;
    throw new SyntaxError(`Cannot read the text as output of nvidia-smi -q -x: ${reason}: ${place}`);
  };
  parser.on(
    "error",
    (error) => refuse(error.message.replace(/^(?:undefined:)?\d+:\d+: /, "").replace(/\.$/, "")),
  );
  parser.on("doctype", (doctype) => {
    // --dtd puts the DTD itself here, which defines elements only. An entity could stand for any amount of text.
    if (/<!ENTITY/i.test(doctype)) refuse("its DOCTYPE defines entities");
  });
  parser.on("opentag", ({ name, attributes }) => {
    if (!document.open(name, attributes["id"], parser.line - 1)) refuse("elements are nested too deeply");
  });
  parser.on("text", (words) => document.addText(words));
  parser.on("cdata", (words) => document.addText(words));
  parser.on("closetag", () => document.close());
  parser.write(text).close();
  return document.finish();
}

class XmlDocument {
  readonly #part: RawPart;
  readonly #firstLine: number;
  /** Open elements; `undefined` where nothing is known to us. */
  readonly #open: (Place | undefined)[] = [plantPlaces()];
  #text = "";
  #gpu: RawGpu | undefined;
  #mig: RawMigDevice | undefined;
  #process: { line: number; values: Map<string, string> } | undefined;

  constructor(line: number) {
    this.#part = emptyPart("query-xml", line);
    this.#firstLine = line;
  }

  open(name: string, id: string | undefined, line: number): boolean {
    const place = this.#open.at(-1)?.children.get(name);
    this.#open.push(place);
    this.#text = "";
    if (place?.role !== undefined) this.#begin(place.role, id, this.#firstLine + line);
    return this.#open.length <= DEEPEST + 1;
  }

  addText(words: string): void {
    if (this.#open.at(-1)?.role !== undefined) this.#text += words;
  }

  close(): void {
    const place = this.#open.pop();
    const value = this.#text.trim();
    this.#text = "";
    if (place?.role !== undefined) this.#end(place.role, place.field ?? "", value);
  }

  finish(): RawPart {
    const { gpus, machine } = this.#part;
    // All of them are shown in the order of their index, unless `-i` chose some.
    if (machine.get("attached_gpus") === String(gpus.length)) {
      for (const [index, gpu] of gpus.entries()) gpu.fields.set("index", String(index));
    }
    return this.#part;
  }

  #begin(role: Role, id: string | undefined, line: number): void {
    if (role === "gpu") {
      this.#gpu = emptyGpu(line, id === undefined ? [] : [["pci.bus_id", id]]);
      this.#part.gpus.push(this.#gpu);
    } else if (!this.#gpu) return;
    else if (role === "listing") this.#gpu.listing = emptyListing("all");
    else if (role === "process") this.#process = { line, values: new Map() };
    else if (role === "mig-list") this.#gpu.mig ??= [];
    else if (role === "mig") {
      this.#mig = emptyMigDevice();
      this.#gpu.mig?.push(this.#mig);
    }
  }

  #end(role: Role, field: string, value: string): void {
    if (role === "process-field") this.#process?.values.set(field, value);
    else if (role === "process") this.#endProcess();
    else if (role === "gpu-field") this.#gpu?.fields.set(field, value);
    else if (role === "mig-field") setMigField(this.#mig, field, value);
    else if (role === "listing") this.#endListing(value);
    else if (role === "machine") this.#part.machine.set(field, value);
    else if (role === "timestamp") this.#part.takenAt = findStamp(value);
    else if (role === "gpu") this.#gpu = undefined;
  }

  #endProcess(): void {
    if (!this.#process) return;
    const { line, values } = this.#process;
    this.#gpu?.listing?.rows.push({
      line,
      pid: values.get("pid") ?? "",
      type: values.get("type"),
      name: values.get("name"),
      memory: values.get("memory"),
      gpuInstance: values.get("gpuInstance"),
      computeInstance: values.get("computeInstance"),
    });
  }

  /** Words in place of rows: `N/A`, an error. Empty means that the driver lists none. */
  #endListing(value: string): void {
    const gpu = this.#gpu;
    if (!gpu?.listing || value === "" || value === "None" || gpu.listing.rows.length > 0) return;
    gpu.listing = { ...emptyListing("unread"), reason: findAbsence(value) ?? absent("implausible", value) };
  }
}

/** The known elements as a tree under the root, so that each element costs one look-up. */
function plantPlaces(): Place {
  const root: Place = { children: new Map() };
  for (const [path, role, field] of PLACES) {
    let place = root;
    for (const name of `nvidia_smi_log/${path}`.split("/")) {
      const child = place.children.get(name) ?? { children: new Map() };
      place.children.set(name, child);
      place = child;
    }
    place.role = role;
    if (field !== undefined) place.field = field;
  }
  return root;
}

function setMigField(device: RawMigDevice | undefined, field: string, value: string): void {
  if (!device) return;
  if (field === "index") device.device = value;
  else if (field === "gpu_instance") device.gpuInstance = value;
  else if (field === "compute_instance") device.computeInstance = value;
  else device.fields.set(field, value);
}
