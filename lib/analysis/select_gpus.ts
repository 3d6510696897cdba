/** Which GPUs a `--gpu` list names. Everything kept or compared afterwards is a UUID. */
import { parseBusId } from "../core/ids.ts";
import type { Gpu } from "../model/gpu.ts";

/** One entry of a `--gpu` list. */
export type GpuSelector =
  | { readonly kind: "indexes"; readonly first: number; readonly last: number }
  | { readonly kind: "uuid"; readonly prefix: string }
  | { readonly kind: "bus"; readonly busId: string };

/** What a list came to: the GPUs in the order of the machine, or the entry that names none. */
export type GpuSelection =
  | { readonly ok: true; readonly gpus: readonly Gpu[] }
  | { readonly ok: false; readonly message: string };

const UUID_PREFIX = /^(?:GPU|MIG)-[0-9a-z-]+$/i;

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
  if (UUID_PREFIX.test(entry)) return { kind: "uuid", prefix: entry.toLowerCase() };
  try {
    return { kind: "bus", busId: parseBusId(entry) };
  } catch (cause) {
    // Whatever is wrong with it as an address, it is no GPU in any form.
    throw new SyntaxError(
      `Cannot parse "${entry}" as a GPU: expected an index, a range, a UUID or a PCI address`,
      { cause },
    );
  }
}

function matches(gpu: Gpu, selector: GpuSelector): boolean {
  if (selector.kind === "indexes") return gpu.index >= selector.first && gpu.index <= selector.last;
  if (selector.kind === "bus") return gpu.busId.ok && gpu.busId.value === selector.busId;
  const uuids = [gpu.uuid, ...(gpu.migInstances.ok ? gpu.migInstances.value.map(({ uuid }) => uuid) : [])];
  return uuids.some((uuid) => uuid.toLowerCase().startsWith(selector.prefix));
}

function describeMiss(selector: GpuSelector, found: readonly Gpu[], gpus: readonly Gpu[]): string {
  if (selector.kind === "uuid" && found.length > 1) {
    return `Cannot select GPU ${selector.prefix}: ${found.length} GPUs begin so`;
  }
  const name = selector.kind === "indexes"
    ? selector.first === selector.last ? selector.first : `${selector.first}-${selector.last}`
    : selector.kind === "uuid"
    ? selector.prefix
    : selector.busId;
  const there = gpus.length === 0 ? "no GPU" : `GPU ${gpus.map(({ index }) => index).join(", ")}`;
  return `Cannot select GPU ${name}: this machine has ${there}`;
}
