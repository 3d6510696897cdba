/** Which GPUs a `--gpu` list names. Everything kept or compared afterwards is a UUID. */
import { type GpuUuid, parseBusId } from "../core/ids.ts";
import { nameIndexes } from "../core/ranges.ts";
import { valueOf } from "../core/reading.ts";
import type { Gpu, MigInstance } from "../model/gpu.ts";

/** One entry of a `--gpu` list. */
export type GpuSelector =
  | { readonly kind: "indexes"; readonly first: number; readonly last: number }
  | { readonly kind: "uuid"; readonly prefix: string }
  /** `MIG-GPU-<UUID>/<GPU instance>/<compute instance>`, as drivers before 470 name a MIG device. */
  | {
    readonly kind: "mig-place";
    readonly prefix: string;
    readonly gpuInstance: number;
    readonly computeInstance: number;
  }
  | { readonly kind: "bus"; readonly busId: string };

/** What a list came to: the GPUs in the order of the machine, or the entry that names none. */
export type GpuSelection =
  | { readonly ok: true; readonly gpus: readonly Gpu[] }
  | { readonly ok: false; readonly message: string };

const UUID_PREFIX = /^(?:GPU|MIG)-[0-9a-z-]+$/i;
const MIG_PLACE = /^MIG-(GPU-[0-9a-z-]+)\/(\d{1,3})\/(\d{1,3})$/i;

/**
 * Reads a `--gpu` list: indexes (`0,2`), ranges (`0-3`), UUIDs or unique beginnings of one (`GPU-8932f9`, `MIG-…`), and
 * PCI addresses (`0000:3b:00.0`).
 *
 * @throws {SyntaxError} if an entry is none of these.
 */
export function parseGpuSelectors(text: string): GpuSelector[] {
  return text.split(",").map((entry) => parseEntry(entry.trim()));
}

/** Finds the GPUs that a list names. A MIG device stands for the GPU it is on. */
export function selectGpus(gpus: readonly Gpu[], selectors: readonly GpuSelector[]): GpuSelection {
  const chosen = new Set<Gpu>();
  for (const selector of selectors) {
    const found = gpus.filter((gpu) => matches(gpu, selector));
    const expected = selector.kind === "indexes" ? selector.last - selector.first + 1 : 1;
    if (found.length !== expected) return { ok: false, message: describeMiss(selector, found, gpus) };
    const devices = found.flatMap((gpu) => migDevicesNamed(gpu, selector));
    if (devices.length > 1) return { ok: false, message: describeMany(selector, devices.length) };
    for (const gpu of found) chosen.add(gpu);
  }
  return { ok: true, gpus: gpus.filter((gpu) => chosen.has(gpu)) };
}

function parseEntry(entry: string): GpuSelector {
  const [, first, last] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(entry) ?? [];
  if (first !== undefined) {
    const range = { kind: "indexes", first: Number(first), last: Number(last ?? first) } as const;
    if (range.last < range.first) {
      throw new SyntaxError(`Cannot parse "${entry}" as GPUs: the range runs backwards`);
    }
    return range;
  }
  const [, prefix, gpuInstance, computeInstance] = MIG_PLACE.exec(entry.toLowerCase()) ?? [];
  if (prefix !== undefined) {
    return {
      kind: "mig-place",
      prefix,
      gpuInstance: Number(gpuInstance),
      computeInstance: Number(computeInstance),
    };
  }
  if (UUID_PREFIX.test(entry)) return { kind: "uuid", prefix: entry.toLowerCase() };
  try {
    return { kind: "bus", busId: parseBusId(entry) };
  } catch (cause) {
    // Whatever is wrong with it as an address, it is no GPU in any form.
    const state = entry.toLowerCase() === "all"
      ? 'there is no "all"; name them, such as 0-7'
      : "expected an index, a range, a UUID or a PCI address";
    throw new SyntaxError(`Cannot parse "${entry}" as a GPU: ${state}`, { cause });
  }
}

function matches(gpu: Gpu, selector: GpuSelector): boolean {
  if (selector.kind === "indexes") return gpu.index >= selector.first && gpu.index <= selector.last;
  if (selector.kind === "bus") return gpu.busId.ok && gpu.busId.value === selector.busId;
  return selector.kind === "uuid" && begins(gpu.uuid, selector.prefix) ||
    migDevicesNamed(gpu, selector).length > 0;
}

/** The MIG devices of a GPU that a selector names; none for one that means the GPU as a whole. */
export function migDevicesNamed(gpu: Gpu, selector: GpuSelector): readonly MigInstance[] {
  const instances = gpu.migInstances.ok ? gpu.migInstances.value : [];
  if (selector.kind === "uuid") return instances.filter(({ uuid }) => begins(uuid, selector.prefix));
  if (selector.kind !== "mig-place" || !begins(gpu.uuid, selector.prefix)) return [];
  return instances.filter(({ gpuInstance, computeInstance }) =>
    valueOf(gpuInstance) === selector.gpuInstance && valueOf(computeInstance) === selector.computeInstance
  );
}

function begins(uuid: GpuUuid, prefix: string): boolean {
  return uuid.toLowerCase().startsWith(prefix);
}

function describeMiss(selector: GpuSelector, found: readonly Gpu[], gpus: readonly Gpu[]): string {
  if (selector.kind === "uuid" && found.length > 1) return describeMany(selector, found.length);
  const name = nameOf(selector);
  const there = gpus.length === 0 ? "no GPU" : nameIndexes(gpus.map(({ index }) => index));
  return `Cannot select GPU ${name}: this machine has ${there}`;
}

function describeMany(selector: GpuSelector, count: number): string {
  return `Cannot select GPU ${nameOf(selector)}: ${count} GPUs or MIG devices begin so`;
}

function nameOf(selector: GpuSelector): string {
  switch (selector.kind) {
    case "indexes":
      return selector.first === selector.last ? `${selector.first}` : `${selector.first}-${selector.last}`;
    case "uuid":
      return selector.prefix;
    case "mig-place":
      return `mig-${selector.prefix}/${selector.gpuInstance}/${selector.computeInstance}`;
    case "bus":
      return selector.busId;
  }
}
