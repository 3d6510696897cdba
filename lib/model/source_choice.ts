/** A machine that can be looked at again and acted on: this one, or the simulated server in a directory. */
export type LiveSource =
  | { readonly kind: "nvml" }
  | { readonly kind: "nvidia-smi" }
  | { readonly kind: "sim"; readonly directory: string };

/** Where to look. Nothing can be ended from a file. */
export type SourceChoice =
  | LiveSource
  /** A saved file; `-` is standard input. */
  | { readonly kind: "file"; readonly path: string };

/**
 * Reads `--source`: `nvml`, `nvidia-smi`, `sim:DIR`, a file's path, or `-`.
 *
 * @throws {SyntaxError} if the text names nothing.
 */
export function parseSourceChoice(text: string): SourceChoice {
  if (text === "nvml" || text === "nvidia-smi") return { kind: text };
  if (text.startsWith("sim:")) {
    const directory = text.slice("sim:".length);
    if (directory === "") throw new SyntaxError(`Cannot parse "${text}" as a source: sim: needs a directory, such as sim:/tmp/server`);
    return { kind: "sim", directory };
  }
  if (text === "") throw new SyntaxError('Cannot parse "" as a source: expected nvml, nvidia-smi, sim:DIR, a file, or -');
  return { kind: "file", path: text };
}
