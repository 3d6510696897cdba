/** What the packages of a Python interpreter say of themselves on disk. Nothing of it is ever run or imported. */
import type { Reading } from "../core/reading.ts";

export const FRAMEWORKS = ["torch", "tensorflow", "jax", "cupy"] as const;
export type Framework = typeof FRAMEWORKS[number];

/** What a package was built for. `version` is `12.4`, or `12` where only that is told. */
export type BuildTarget =
  | { readonly kind: "cuda"; readonly version: string }
  | { readonly kind: "cpu" }
  | { readonly kind: "rocm" };

/** A framework as it is installed for one interpreter. */
export interface FrameworkBuild {
  readonly framework: Framework;
  /** The distribution's name: `tensorflow-cpu`, `cupy-cuda12x`. */
  readonly distribution: string;
  readonly version: Reading<string>;
  readonly target: Reading<BuildTarget>;
  /** What the target was told by: a file or the name of a package. */
  readonly toldBy: string;
  /** GPU architectures that it has code for, `sm_80` or `compute_90`; absent where its files do not say. */
  readonly architectures: Reading<readonly string[]>;
  /** What does not fit together among its own parts, one sentence each. */
  readonly conflicts: readonly string[];
}

/** One interpreter with what is installed for it. */
export interface PythonInterpreter {
  readonly path: string;
  /** How it was come by: `python3 on the PATH`, `VIRTUAL_ENV`. */
  readonly origin: string;
  /** Directories in which it looks for packages. */
  readonly sites: readonly string[];
  readonly builds: Reading<readonly FrameworkBuild[]>;
}
