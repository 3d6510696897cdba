/** A machine that can be looked at again and acted on: this one, or the simulated server in a directory. */
export type LiveSource =
  /** `library` is the driver's library where it lies in no known place. */
  | { readonly kind: "nvml"; readonly library?: string }
  | { readonly kind: "nvidia-smi" }
  | { readonly kind: "sim"; readonly directory: string };

/** Where to look. Nothing can be ended from a file. */
export type SourceChoice =
  | LiveSource
  /** A saved file; `-` is standard input. */
  | { readonly kind: "file"; readonly path: string };

/**
 * Reads `--source`: `nvml`, `nvml:LIBRARY`, `nvidia-smi`, `sim:DIR`, a file's path, or `-`.
 *
 * @throws {SyntaxError} if the text names nothing.
 */
export function parseSourceChoice(text: string): SourceChoice {
  if (text === "nvml" || text === "nvidia-smi") return { kind: text };
  if (text.startsWith("nvml:")) {
    const library = text.slice("nvml:".length);
    if (!library.startsWith("/")) {
      throw new SyntaxError(`Cannot parse "${text}" as a source: the library needs an absolute path`);
    }
    return { kind: "nvml", library };
  }
  if (text.startsWith("sim:")) {
    const directory = text.slice("sim:".length);
    if (directory === "") {
      throw new SyntaxError(
        `Cannot parse "${text}" as a source: sim: needs a directory, such as sim:/tmp/server`,
      );
    }
    return { kind: "sim", directory };
  }
  if (text === "") {
    throw new SyntaxError('Cannot parse "" as a source: expected nvml, nvidia-smi, sim:DIR, a file, or -');
  }
  return { kind: "file", path: text };
}
