/** One build of a framework against the driver that is loaded and the GPUs that it has. */
import { formatAbsent, valueOf } from "../../core/reading.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { CompatLibrary, DriverFiles } from "../../model/doctor_facts.ts";
import type { FrameworkBuild } from "../../model/python_packages.ts";
import { findNewestCuda, findOldestDriver, judgeCudaSupport } from "../cuda_driver.ts";
import { findArchitectureGap, findComputeCapability, hasCodeFor } from "../gpu_architecture.ts";
import { nameFittingBuild } from "./framework_fix.ts";
import { finding, fine, unknown, unseen, worstVerdict } from "./verdict.ts";

/** GPUs on which a newer libcuda of the packages cuda-compat works: those of data centres. */
const DATA_CENTRE =
  /\b(?:G?B[123]00|G?H[128]00|H20|A(?:2|10G?|16|30|40|100|800)|L(?:2|4|20|40S?)|T4G?|V100S?|P(?:4|40|100))\b/;

/** Says whether a build runs here. */
export function judgeBuild(build: FrameworkBuild, driver: DriverFiles): CheckVerdict {
  const { target, conflicts, framework } = build;
  const { moduleVersion } = driver;
  if (!target.ok) return unknown(["whether it runs with this driver is not known"]);
  const version = valueOf(moduleVersion);
  const fitting = version === undefined ? "install its build for CUDA" : nameFittingBuild(framework, version);
  const own = conflicts.map((conflict) => finding([conflict], fitting));
  if (target.value.kind === "cpu") {
    return worstVerdict([finding(["it never uses a GPU, and does not say so"], fitting), ...own]);
  }
  if (target.value.kind === "rocm") {
    return worstVerdict([finding(["it cannot use NVIDIA's GPUs"], fitting), ...own]);
  }
  if (!moduleVersion.ok) return worstVerdict([unseen("the driver's version", moduleVersion), ...own]);
  const cuda = target.value.version;
  return worstVerdict([
    ...own,
    judgeDriver(cuda, { driver, version: moduleVersion.value, fitting }),
    ...judgeArchitectures(build, cuda, { driver, fitting }),
  ]);
}

function judgeDriver(
  cuda: string,
  { driver, version, fitting }: {
    readonly driver: DriverFiles;
    readonly version: string;
    readonly fitting: string;
  },
): CheckVerdict {
  switch (judgeCudaSupport(cuda, version)) {
    case "full":
      return fine(`driver ${version} runs all of CUDA ${cuda}`);
    case "minor":
      return fine(
        `driver ${version} runs CUDA ${cuda} by minor version compatibility: code that is compiled at run time (PTX) may not`,
      );
    case "unknown":
      return unknown([
        `whether driver ${version} runs CUDA ${cuda} is in none of NVIDIA's tables that gpuctl has`,
      ]);
    case "none":
      return judgeTooOld(cuda, { driver, version, fitting });
  }
}

/** A driver that is too old may be helped by a newer libcuda, on GPUs of data centres alone. */
function judgeTooOld(
  cuda: string,
  { driver, version, fitting }: {
    readonly driver: DriverFiles;
    readonly version: string;
    readonly fitting: string;
  },
): CheckVerdict {
  const oldest = findOldestDriver(cuda) ?? "a newer one";
  const newest = findNewestCuda(version);
  const tooOld = [
    `driver ${version} is too old for CUDA ${cuda}: it takes ${oldest}`,
    ...(newest === undefined ? [] : [`driver ${version} runs CUDA up to ${newest}`]),
  ];
  const { compatLibraries, kernelGpus } = driver;
  if (!compatLibraries.ok || !kernelGpus.ok) {
    const reason = !compatLibraries.ok ? compatLibraries : kernelGpus.ok ? undefined : kernelGpus;
    const doubt = reason === undefined ? "" : `: ${formatAbsent(reason)}`;
    return finding(
      [...tooOld, `whether a cuda-compat package helps is not known${doubt}`],
      `${fitting}; or install driver ${oldest} or later`,
    );
  }
  const helping = compatLibraries.value.filter((library) => isHelping(library, cuda));
  const active = helping.find(({ isOnLibraryPath }) => isOnLibraryPath);
  const areAllOfDataCentres = kernelGpus.value.length > 0 &&
    kernelGpus.value.every(({ name }) => name.ok && DATA_CENTRE.test(name.value));
  if (active !== undefined && areAllOfDataCentres) {
    return unknown([
      ...tooOld,
      `${active.path} is on LD_LIBRARY_PATH and new enough: forward compatibility works on these GPUs if NVIDIA's table has ` +
      `this pair of branches`,
    ], "try it; CUDA error 803 or 804 means that it does not work here");
  }
  const idle = helping[0];
  return finding(
    [
      ...tooOld,
      ...(active === undefined
        ? []
        : [`${active.path} does not help: it works on GPUs of data centres alone`]),
      ...(active !== undefined || idle === undefined
        ? []
        : [`${idle.path} is there, and not on LD_LIBRARY_PATH: it may help on GPUs of data centres`]),
    ],
    `${fitting}; or install driver ${oldest} or later`,
  );
}

function isHelping({ version }: CompatLibrary, cuda: string): boolean {
  return version.ok && judgeCudaSupport(cuda, version.value) !== "none";
}

function judgeArchitectures(
  { architectures }: FrameworkBuild,
  cuda: string,
  { driver: { kernelGpus }, fitting }: { readonly driver: DriverFiles; readonly fitting: string },
): CheckVerdict[] {
  // Which GPUs there are is known by their names alone, and what a name does not tell is not concluded.
  const names = new Set((kernelGpus.ok ? kernelGpus.value : []).flatMap(({ name }) => valueOf(name) ?? []));
  return [...names].flatMap((name) => {
    const capability = findComputeCapability(name);
    if (capability === undefined) return [];
    const hasCode = architectures.ok ? hasCodeFor(architectures.value, capability) : undefined;
    if (hasCode === true) return [fine(`it has code for ${name} (compute capability ${capability})`)];
    const gap = hasCode === false
      ? `it has code for ${architectures.ok ? architectures.value.join(", ") : "others"} alone`
      : findArchitectureGap(cuda, capability);
    return gap === undefined
      ? []
      : [finding([`it has no code for ${name}: ${gap}`], fixFor(cuda, capability, fitting))];
  });
}

function fixFor(cuda: string, capability: string, fitting: string): string {
  const isTooNew = findArchitectureGap(cuda, capability)?.startsWith("CUDA ") === true;
  return isTooNew ? "install a build for an earlier CUDA, which still knows this GPU" : fitting;
}
