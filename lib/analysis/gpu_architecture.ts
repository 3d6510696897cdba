/**
 * The compute capability of a GPU by its product name, after NVIDIA's list of CUDA GPUs. A name that is not on it has
 * none here: nothing is concluded from it then.
 */
import { compareVersions } from "./driver_version.ts";

/** What is told by a name, the most special first. */
const BY_NAME: readonly (readonly [name: RegExp, capability: string])[] = [
  [/\bGB10\b/, "12.1"],
  [/\bRTX 50[5-9]0\b|\bRTX PRO \d{4}\b.*\bBlackwell\b/, "12.0"],
  [/\bG?B300\b/, "10.3"],
  [/\bG?B[12]00\b/, "10.0"],
  [/\b(?:GH200|H[128]00|H20)\b/, "9.0"],
  [/\bRTX 40[5-9]0\b|\bL40S?\b|\bL4\b|\bL20\b|\bL2\b|\bRTX \d{4}(?: SFF)? Ada\b/, "8.9"],
  [/\bRTX 30[5-9]0\b|\bA(?:2|10|10G|16|40)\b|\bRTX A\d{4}\b/, "8.6"],
  [/\bA(?:30|100|800)\b/, "8.0"],
  [
    /\bRTX 20[6-8]0\b|\bTITAN RTX\b|\bGTX 16[356]0\b|\bT4G?\b|\bQuadro (?:RTX|T)\b|\bT(?:400|600|1000|1200)\b/,
    "7.5",
  ],
  [/\bV100S?\b|\bTITAN V\b|\bGV100\b/, "7.0"],
  [/\bGTX 10[1-8]0\b|\bTITAN Xp?\b|\bP4\b|\bP40\b|\bQuadro P\d{3,4}\b/, "6.1"],
  [/\bP100\b|\bGP100\b/, "6.0"],
  [/\bGTX 9[5-8]0\b|\bM(?:4|40|6|60)\b|\bQuadro M\d{4}\b/, "5.2"],
  [/\bGTX 750\b|\bM10\b/, "5.0"],
  [/\bK80\b/, "3.7"],
  [/\bK(?:20|40)[cmstx]?\b/, "3.5"],
];

/** The capability of a GPU of this name, `9.0`; `undefined` for a name that does not tell. */
export function findComputeCapability(name: string): string | undefined {
  return BY_NAME.find(([pattern]) => pattern.test(name))?.[1];
}

/** The first toolkit that compiles for GPUs of a capability or for earlier ones of its generation (CUDA release notes). */
const FIRST_TOOLKITS: Readonly<Record<string, string>> = {
  "7": "9.0",
  "8": "11.0",
  "9": "11.8",
  "10": "12.8",
  "12": "12.8",
};
/** Turing came within a generation, and code for its elder brother runs on it. */
const OLDEST_OF_CUDA_13 = "7.5";
const OLDEST_OF_CUDA_12 = "5.0";

/** Why a toolkit's programs have no code for a GPU of a capability; `undefined` where they may. */
export function findArchitectureGap(cuda: string, capability: string): string | undefined {
  const [generation = ""] = capability.split(".");
  const first = FIRST_TOOLKITS[generation];
  const [major = "0", minor] = cuda.split(".");
  // Of a bare major version it is not known which toolkit it was.
  const isBefore = first !== undefined &&
    (minor === undefined ? Number(major) < Number(first.split(".")[0]) : compareVersions(cuda, first) < 0);
  if (isBefore) return `GPUs of compute capability ${capability} need CUDA ${first} or later`;
  const oldest = Number(major) >= 13
    ? OLDEST_OF_CUDA_13
    : Number(major) === 12
    ? OLDEST_OF_CUDA_12
    : undefined;
  return oldest !== undefined && compareVersions(capability, oldest) < 0
    ? `CUDA ${major} no longer knows GPUs below compute capability ${oldest}`
    : undefined;
}

/**
 * Whether code for these architectures runs on a GPU of a capability: compiled code (`sm_86`) within its generation from its own
 * minor version on, intermediate code (`compute_90`) on everything from its version on (CUDA programming guide, "Binary
 * compatibility" and "PTX compatibility"). `undefined` where none of them can be read.
 */
export function hasCodeFor(architectures: readonly string[], capability: string): boolean | undefined {
  const read = architectures.flatMap((text) => {
    const [, kind, major, minor, suffix] = /^(sm|compute)_(\d{1,2})(\d)([af]?)$/.exec(text) ?? [];
    return major === undefined || minor === undefined
      ? []
      : [{ isCompiled: kind === "sm", version: `${major}.${minor}`, isExact: suffix !== "" }];
  });
  if (read.length === 0) return undefined;
  const [generation] = capability.split(".");
  return read.some(({ isCompiled, version, isExact }) => {
    if (isExact) return version === capability;
    const isOld = compareVersions(version, capability) <= 0;
    return isOld && (!isCompiled || version.split(".")[0] === generation);
  });
}
