/** Which build of a framework to install in place of one that does not fit. */
import type { Framework } from "../../model/python_packages.ts";
import { findNewestMajor } from "../cuda_driver.ts";

const BY_FRAMEWORK: Readonly<Record<Framework, (major: string) => string>> = {
  torch: (major) =>
    `install a torch that was built for CUDA ${major}: pip install with PyTorch's own package index of a tag cu${major}x`,
  tensorflow: (major) =>
    `install one that was built for CUDA ${major}: pip install 'tensorflow[and-cuda]', of a fitting version`,
  jax: (major) => `install its plugin for CUDA ${major}: pip install 'jax[cuda${major}]'`,
  cupy: (major) =>
    `install the package for CUDA ${major}: pip install cupy-cuda${major}x, and no other cupy beside it`,
};

/** The build that the driver can run; a newer driver where it is too old for all. */
export function nameFittingBuild(framework: Framework, driver: string): string {
  const major = findNewestMajor(driver);
  return major === undefined ? "install a newer driver" : BY_FRAMEWORK[framework](major);
}
