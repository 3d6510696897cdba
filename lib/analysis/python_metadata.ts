/**
 * Reads what Python packages say of themselves: names of their metadata folders, and files of theirs as text. They are
 * anybody's, so nothing is taken from them but numbers of a strict form.
 */
import { absent, known, type Reading } from "../core/reading.ts";
import type { BuildTarget } from "../model/python_packages.ts";

/** A distribution by the name of its metadata folder. */
export interface Distribution {
  /** In lower case, with `_` for every separator (PEP 503, PEP 427). */
  readonly name: string;
  readonly version: string;
}

/** A version as PEP 440 has it, and no longer than any that there is. */
const VERSION = "[0-9][A-Za-z0-9.+!_]{0,60}";
const METADATA_FOLDER = new RegExp(
  `^([A-Za-z0-9][A-Za-z0-9._-]{0,100}?)-(${VERSION})(?:-py[0-9.]{1,6})?\\.(?:dist|egg)-info$`,
);
const CUDA_VERSION = /^(\d{1,2}\.\d{1,2})(?:\.\d{1,4})?$/;

/** Reads `torch-2.5.1+cu124.dist-info`; `undefined` for another name. */
export function findDistribution(folder: string): Distribution | undefined {
  const [, name, version] = METADATA_FOLDER.exec(folder) ?? [];
  return name === undefined || version === undefined
    ? undefined
    : { name: name.toLowerCase().replaceAll(/[-._]+/g, "_"), version };
}

/** What torch/version.py says. */
export interface TorchVersion {
  readonly version: Reading<string>;
  readonly target: Reading<BuildTarget>;
}

/**
 * Parses torch/version.py, in which `cuda` and `hip` are a version in quotes or None, with or without a type behind the
 * name. A name that is set to two things tells nothing.
 */
export function parseTorchVersion(text: string): TorchVersion {
  const version = findAssigned(text, "__version__");
  const cuda = findAssigned(text, "cuda");
  const hip = findAssigned(text, "hip");
  return {
    version: typeof version === "string" && new RegExp(`^${VERSION}$`).test(version)
      ? known(version)
      : absent("not-reported", "version.py names no version"),
    target: targetOf(cuda, hip),
  };
}

function targetOf(cuda: Assigned, hip: Assigned): Reading<BuildTarget> {
  if (cuda === "unclear") return absent("implausible", "version.py sets cuda to several things");
  if (cuda === undefined) return absent("not-reported", "version.py does not tell of cuda");
  if (cuda !== "none") return readCuda(cuda, "version.py");
  return known(hip === undefined || hip === "none" || hip === "unclear" ? { kind: "cpu" } : { kind: "rocm" });
}

/** A text, None, set to several things, or not there. */
type Assigned = string | "none" | "unclear" | undefined;

function findAssigned(text: string, name: string): Assigned {
  const pattern = new RegExp(
    `^${name}(?:[ \\t]*:[^=\\n]{0,80})?[ \\t]*=[ \\t]*(?:'([^'\\n]{0,80})'|"([^"\\n]{0,80})"|None\\b)`,
    "gm",
  );
  const values = new Set(
    Array.from(text.matchAll(pattern), ([, single, double]) => single ?? double ?? "none"),
  );
  return values.size > 1 ? "unclear" : [...values][0];
}

function readCuda(text: string, where: string): Reading<BuildTarget> {
  const version = CUDA_VERSION.exec(text)?.[1];
  return version === undefined
    ? absent("implausible", `${where} names no version of CUDA that there can be`)
    : known({ kind: "cuda", version });
}

/** What tensorflow/python/platform/build_info.py says. */
export interface TensorflowBuild {
  readonly target: Reading<BuildTarget>;
  readonly architectures: Reading<readonly string[]>;
}

/** Parses build_info.py, which is a list of pairs, `('cuda_version', '12.5.1')` and `('is_cuda_build', True)` among them. */
export function parseTensorflowBuild(text: string): TensorflowBuild {
  const isCuda = pairOf(text, "is_cuda_build", "(True|False)");
  const isRocm = pairOf(text, "is_rocm_build", "(True|False)");
  const version = pairOf(text, "cuda_version", "['\"]([^'\"\\n]{0,40})['\"]");
  const list = pairOf(text, "cuda_compute_capabilities", "\\[([^\\]]{0,2000})\\]");
  const architectures = Array.from(
    (list ?? "").matchAll(/\b(?:sm|compute)_\d{2,3}[af]?\b/g),
    ([name]) => name,
  );
  return {
    target: isCuda === undefined
      ? absent("not-reported", "build_info.py does not tell of CUDA")
      : isCuda === "True"
      ? readCuda(version ?? "", "build_info.py")
      : known({ kind: isRocm === "True" ? "rocm" : "cpu" }),
    architectures: architectures.length > 0
      ? known(architectures)
      : absent("not-reported", "build_info.py names no architectures"),
  };
}

function pairOf(text: string, key: string, value: string): string | undefined {
  return new RegExp(`\\(\\s{0,9}['"]${key}['"]\\s{0,9},\\s{0,9}${value}\\s{0,9}\\)`).exec(text)?.[1];
}

/** A version of another distribution that one is bound to, `nvidia-cudnn-cu12==9.1.0.70`. */
export type Pin = Distribution;

/** Parses the exact requirements on NVIDIA's packages in a METADATA file; those of an extra are nobody's unless asked for. */
export function parseNvidiaPins(metadata: string): readonly Pin[] {
  const [header = ""] = metadata.split("\n\n");
  const pattern = new RegExp(
    `^Requires-Dist:[ \\t]*(nvidia-[a-z0-9-]{1,80})[ \\t]*\\(?==(${VERSION})\\)?([^\\n]{0,400})$`,
    "gm",
  );
  return Array.from(
    header.matchAll(pattern),
    ([, name = "", version = "", rest = ""]) => ({ name, version, rest }),
  )
    .filter(({ rest }) => !/\bextra\b/.test(rest))
    .map(({ name, version }) => ({ name: name.replaceAll("-", "_"), version }));
}
