/** What the frameworks of one Python interpreter were built for, by what lies in its package directories. */
import { absent, known, type Reading } from "../core/reading.ts";
import type { BuildTarget, FrameworkBuild } from "../model/python_packages.ts";
import {
  type Distribution,
  findDistribution,
  parseNvidiaPins,
  parseTensorflowBuild,
  parseTorchVersion,
} from "./python_metadata.ts";

/** One directory of packages: the names in it, and the texts of those files that were asked for. */
export interface PythonSite {
  readonly path: string;
  readonly names: readonly string[];
  readonly texts: ReadonlyMap<string, Reading<string>>;
}

/** Files below a directory of packages that tell of a build, by the package whose they are. */
const TELLING_FILES = {
  torch: "torch/version.py",
  tensorflow: "tensorflow/python/platform/build_info.py",
} as const;

/** The files that are worth reading in a directory with these names in it. */
export function listTellingFiles(names: readonly string[]): readonly string[] {
  const files: string[] = Object.entries(TELLING_FILES).filter(([name]) => names.includes(name)).map((
    [, file],
  ) => file);
  const torch = names.find((name) => name.endsWith(".dist-info") && findDistribution(name)?.name === "torch");
  return torch === undefined ? files : [...files, `${torch}/METADATA`];
}

/** Finds the frameworks in the directories of one interpreter; of two of a kind the one in the earlier directory counts. */
export function findFrameworkBuilds(sites: readonly PythonSite[]): readonly FrameworkBuild[] {
  const distributions = new Map<string, Distribution>();
  for (const { names } of sites) {
    for (const found of names.flatMap((name) => findDistribution(name) ?? [])) {
      if (!distributions.has(found.name)) distributions.set(found.name, found);
    }
  }
  return [
    ...findTorch(sites, distributions),
    ...findTensorflow(sites, distributions),
    ...findJax(distributions),
    ...findCupy(distributions),
  ];
}

type Distributions = ReadonlyMap<string, Distribution>;
const NOT_TOLD = absent("not-reported", "its files do not name the architectures");

function findTorch(sites: readonly PythonSite[], distributions: Distributions): FrameworkBuild[] {
  const site = sites.find(({ names }) => names.includes("torch"));
  const text = site?.texts.get(TELLING_FILES.torch);
  if (site === undefined || text === undefined) return [];
  const told: ReturnType<typeof parseTorchVersion> = text.ok
    ? parseTorchVersion(text.value)
    : { version: text, target: text };
  const listed = distributions.get("torch");
  return [{
    framework: "torch",
    distribution: "torch",
    version: told.version.ok || listed === undefined ? told.version : known(listed.version),
    target: told.target,
    toldBy: `${site.path}/${TELLING_FILES.torch}`,
    architectures: NOT_TOLD,
    conflicts: findTorchConflicts(site, distributions),
  }];
}

/** Packages of NVIDIA's that another framework has replaced by its own version. */
function findTorchConflicts({ texts }: PythonSite, distributions: Distributions): string[] {
  const metadata = [...texts].find(([name]) => name.endsWith("/METADATA"))?.[1];
  if (metadata === undefined || !metadata.ok) return [];
  return parseNvidiaPins(metadata.value).flatMap(({ name, version }) => {
    const installed = distributions.get(name);
    return installed === undefined || installed.version === version
      ? []
      : [`torch was made for ${name} ${version}, and ${installed.version} is installed`];
  });
}

const TENSORFLOW_NAMES = ["tensorflow", "tensorflow_cpu", "tensorflow_gpu", "tf_nightly", "tensorflow_intel"];

function findTensorflow(sites: readonly PythonSite[], distributions: Distributions): FrameworkBuild[] {
  const site = sites.find(({ names }) => names.includes("tensorflow"));
  const text = site?.texts.get(TELLING_FILES.tensorflow);
  if (site === undefined || text === undefined) return [];
  const listed = TENSORFLOW_NAMES.flatMap((name) => distributions.get(name) ?? [])[0];
  const told: ReturnType<typeof parseTensorflowBuild> = text.ok
    ? parseTensorflowBuild(text.value)
    : { target: text, architectures: text };
  return [{
    framework: "tensorflow",
    distribution: listed?.name.replaceAll("_", "-") ?? "tensorflow",
    version: listed === undefined ? absent("not-reported", "it has no metadata") : known(listed.version),
    target: told.target,
    toldBy: `${site.path}/${TELLING_FILES.tensorflow}`,
    architectures: told.architectures,
    conflicts: [],
  }];
}

/** JAX is for the processor unless a plugin is there; before 0.4.26 jaxlib itself was built for CUDA. */
function findJax(distributions: Distributions): FrameworkBuild[] {
  const jax = distributions.get("jax");
  const jaxlib = distributions.get("jaxlib");
  if (jax === undefined && jaxlib === undefined) return [];
  const plugins = [...distributions.values()].filter(({ name }) =>
    /^jax_(?:cuda|rocm)\d{1,3}_plugin$/.test(name)
  );
  return [{
    framework: "jax",
    distribution: "jax",
    version: jax === undefined ? absent("not-reported", "jax itself is not installed") : known(jax.version),
    ...findJaxTarget(jaxlib, plugins[0]),
    architectures: NOT_TOLD,
    conflicts: [
      ...(plugins.length > 1
        ? [`several plugins of jax are installed: ${plugins.map(({ name }) => name).join(", ")}`]
        : []),
      ...plugins.flatMap((plugin) => describeOtherMinor(plugin, jaxlib)),
    ],
  }];
}

function findJaxTarget(
  jaxlib: Distribution | undefined,
  plugin: Distribution | undefined,
): Pick<FrameworkBuild, "target" | "toldBy"> {
  if (plugin !== undefined) {
    const [, kind, major = ""] = /^jax_(cuda|rocm)(\d+)_/.exec(plugin.name) ?? [];
    const toldBy = `the package ${plugin.name} ${plugin.version}`;
    return { target: known(kind === "cuda" ? { kind: "cuda", version: major } : { kind: "rocm" }), toldBy };
  }
  if (jaxlib === undefined) {
    return { target: absent("not-reported", "jaxlib is not installed"), toldBy: "nothing" };
  }
  const major = /\+cuda(\d{2})/.exec(jaxlib.version)?.[1];
  return major === undefined
    ? { target: known({ kind: "cpu" }), toldBy: `jaxlib ${jaxlib.version}, and no plugin for CUDA` }
    : { target: known({ kind: "cuda", version: major }), toldBy: `jaxlib ${jaxlib.version}` };
}

function describeOtherMinor(plugin: Distribution, jaxlib: Distribution | undefined): string[] {
  if (jaxlib === undefined) return [`${plugin.name} is installed, and jaxlib is not`];
  const minorOf = ({ version }: Distribution) => version.split(".").slice(0, 2).join(".");
  return minorOf(plugin) === minorOf(jaxlib) ? [] : [
    `${plugin.name} ${plugin.version} does not fit jaxlib ${jaxlib.version}: jax leaves such a plugin out`,
  ];
}

/** CuPy has a package for each major version of CUDA; the one without a suffix is compiled where it is installed. */
function findCupy(distributions: Distributions): FrameworkBuild[] {
  const all = [...distributions.values()].filter(({ name }) =>
    /^cupy(?:_(?:cuda|rocm)_?\w{1,9})?$/.test(name)
  );
  const conflicts = all.length > 1
    ? [
      `several packages of cupy are installed, and spoil each other: ${
        all.map(({ name }) => name).join(", ")
      }`,
    ]
    : [];
  return all.map(({ name, version }) => ({
    framework: "cupy",
    distribution: name.replaceAll("_", "-"),
    version: known(version),
    target: readCupyTarget(name),
    toldBy: "the name of the package",
    architectures: NOT_TOLD,
    conflicts,
  }));
}

function readCupyTarget(name: string): Reading<BuildTarget> {
  if (name.startsWith("cupy_rocm")) return known({ kind: "rocm" });
  const [, major, minor] = /^cupy_cuda(\d{2})(\d|x)$/.exec(name) ?? [];
  if (major === undefined) {
    return absent("not-reported", "it was compiled where it is installed, for the CUDA that was there");
  }
  return known({ kind: "cuda", version: minor === "x" ? major : `${major}.${minor}` });
}
