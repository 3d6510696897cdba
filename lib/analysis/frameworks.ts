/** Which framework a process runs, told by what it has mapped. */

/** The more a framework takes by itself, the earlier it stands. */
export const FRAMEWORKS = ["JAX", "TensorFlow", "PyTorch"] as const;
export type Framework = typeof FRAMEWORKS[number];

/** Files that only this framework's wheels bring into a process. */
const LIBRARIES: Readonly<Record<Framework, RegExp>> = {
  JAX: /\/(?:jaxlib|jax_plugins|jax_cuda\d+_\w+)\/|\/xla_(?:extension|cuda_plugin)[^/]*\.so/,
  TensorFlow: /\/libtensorflow_(?:framework|cc)\.so|\/_pywrap_tensorflow[^/]*\.so/,
  PyTorch: /\/libtorch_cuda[^/]*\.so|\/libc10_cuda\.so/,
};

/** The framework whose libraries a process has mapped. A process with several is named after the most possessive. */
export function findFramework(mappedFiles: Iterable<string>): Framework | undefined {
  const seen = new Set<Framework>();
  for (const file of mappedFiles) {
    for (const framework of FRAMEWORKS) if (LIBRARIES[framework].test(file)) seen.add(framework);
  }
  return FRAMEWORKS.find((framework) => seen.has(framework));
}
