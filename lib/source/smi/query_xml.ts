/** `nvidia-smi -q -x` of every DTD: elements by name, unknown ones ignored, missing ones missing. */
import { SaxesParser } from "saxes";
import { absent } from "../../core/reading.ts";
import {
  emptyGpu,
  emptyListing,
  emptyMigDevice,
  emptyPart,
  type RawGpu,
  type RawListing,
  type RawMigDevice,
  type RawPart,
} from "./raw.ts";
import { findStamp } from "./stamps.ts";
import { findAbsence } from "./values.ts";

const ROOT = "/nvidia_smi_log";
const GPU = `${ROOT}/gpu`;
const MIG = "/mig_devices/mig_device";
const PROCESS = "/processes/process_info";
/** The deepest element of any DTD lies 8 levels down. */
const DEEPEST = 32;

const MACHINE_FIELDS: ReadonlyMap<string, string> = new Map([
  ["/driver_version", "driver_version"],
  ["/kmd_version", "driver_version"],
  ["/cuda_version", "cuda_version"],
  ["/cuda_umd_version", "cuda_version"],
  ["/attached_gpus", "attached_gpus"],
]);

/** `reserved` is there since 510, `gpu_reset_status` from 535 to 575, `gpu_recovery_action` since 570. */
const GPU_FIELDS: ReadonlyMap<string, string> = new Map([
  ["/product_name", "name"],
  ["/uuid", "uuid"],
  ["/minor_number", "minor_number"],
  ["/pci/pci_bus_id", "pci.bus_id"],
  ["/display_active", "display_active"],
  ["/persistence_mode", "persistence_mode"],
  ["/compute_mode", "compute_mode"],
  ["/gpu_recovery_action", "gpu_recovery_action"],
  ["/gpu_reset_status/reset_required", "reset_status.reset_required"],
  ["/gpu_reset_status/drain_and_reset_recommended", "reset_status.drain_and_reset_recommended"],
  ["/mig_mode/current_mig", "mig.mode.current"],
  ["/mig_mode/pending_mig", "mig.mode.pending"],
  ["/fb_memory_usage/total", "memory.total"],
  ["/fb_memory_usage/reserved", "memory.reserved"],
  ["/fb_memory_usage/used", "memory.used"],
  ["/fb_memory_usage/free", "memory.free"],
  ["/utilization/gpu_util", "utilization.gpu"],
]);

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
    throw new SyntaxError(`Cannot parse the output of nvidia-smi -q -x: ${reason}: ${place}`);
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
  readonly #lengths: number[] = [];
  #path = "";
  #text = "";
  #gpu: RawGpu | undefined;
  #mig: RawMigDevice | undefined;
  #process: { line: number; values: Map<string, string> } | undefined;

  constructor(line: number) {
    this.#part = emptyPart("query-xml", line);
    this.#firstLine = line;
  }

  open(name: string, id: string | undefined, line: number): boolean {
    this.#lengths.push(this.#path.length);
    this.#path += `/${name}`;
    this.#text = "";
    if (this.#path === GPU) {
      this.#gpu = emptyGpu(this.#firstLine + line, id === undefined ? [] : [["pci.bus_id", id]]);
      this.#part.gpus.push(this.#gpu);
    } else if (this.#gpu) this.#openInGpu(this.#gpu, this.#path.slice(GPU.length), this.#firstLine + line);
    return this.#lengths.length <= DEEPEST;
  }

  addText(words: string): void {
    this.#text += words;
  }

  close(): void {
    const path = this.#path;
    const value = this.#text.trim();
    this.#text = "";
    this.#path = path.slice(0, this.#lengths.pop() ?? 0);
    if (path === GPU) this.#gpu = undefined;
    else if (this.#gpu) this.#closeInGpu(this.#gpu, path.slice(GPU.length), value);
    else if (path === `${ROOT}/timestamp`) this.#part.takenAt = findStamp(value);
    else {
      const field = MACHINE_FIELDS.get(path.slice(ROOT.length));
      if (field !== undefined && path.startsWith(ROOT)) this.#part.machine.set(field, value);
    }
  }

  finish(): RawPart {
    const { gpus, machine } = this.#part;
    // All of them are shown in the order of their index, unless `-i` chose some.
    if (machine.get("attached_gpus") === String(gpus.length)) {
      for (const [index, gpu] of gpus.entries()) gpu.fields.set("index", String(index));
    }
    return this.#part;
  }

  #openInGpu(gpu: RawGpu, path: string, line: number): void {
    if (path === "/processes") gpu.listing = emptyListing("all");
    else if (path === PROCESS) this.#process = { line, values: new Map() };
    else if (path === "/mig_devices") gpu.mig ??= [];
    else if (path === MIG) {
      this.#mig = emptyMigDevice();
      gpu.mig?.push(this.#mig);
    }
  }

  #closeInGpu(gpu: RawGpu, path: string, value: string): void {
    if (path.startsWith(`${PROCESS}/`)) this.#process?.values.set(path.slice(PROCESS.length + 1), value);
    else if (path === PROCESS) this.#closeProcess(gpu.listing);
    else if (path === "/processes") this.#closeListing(gpu, value);
    else if (path === MIG) this.#mig = undefined;
    else if (path.startsWith(`${MIG}/`) && this.#mig) readMig(this.#mig, path.slice(MIG.length), value);
    else {
      const field = GPU_FIELDS.get(path);
      if (field !== undefined) gpu.fields.set(field, value);
    }
  }

  #closeProcess(listing: RawListing | undefined): void {
    if (!this.#process || !listing) return;
    const { line, values } = this.#process;
    this.#process = undefined;
    listing.rows.push({
      line,
      pid: values.get("pid") ?? "",
      type: values.get("type"),
      name: values.get("process_name"),
      memory: values.get("used_memory"),
      gpuInstance: values.get("gpu_instance_id"),
      computeInstance: values.get("compute_instance_id"),
    });
  }

  /** Words in place of rows: `N/A`, an error. Empty means that the driver lists none. */
  #closeListing(gpu: RawGpu, value: string): void {
    if (value === "" || value === "None" || (gpu.listing?.rows.length ?? 0) > 0) return;
    gpu.listing = { ...emptyListing("unread"), reason: findAbsence(value) ?? absent("implausible", value) };
  }
}

function readMig(device: RawMigDevice, path: string, value: string): void {
  if (path === "/index") device.device = value;
  else if (path === "/gpu_instance_id") device.gpuInstance = value;
  else if (path === "/compute_instance_id") device.computeInstance = value;
  else if (path === "/uuid") device.fields.set("uuid", value);
  else {
    const field = GPU_FIELDS.get(path);
    if (field?.startsWith("memory.")) device.fields.set(field, value);
  }
}
