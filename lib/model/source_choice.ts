import { quoteArguments } from "../core/text.ts";

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

/** Whether a value that has lost its type is what `parseSourceChoice` gives. */
export function isSourceChoice(value: unknown): value is SourceChoice {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  switch (value.kind) {
    case "nvml":
      return !("library" in value) || typeof value.library === "string";
    case "nvidia-smi":
      return true;
    case "sim":
      return "directory" in value && typeof value.directory === "string";
    case "file":
      return "path" in value && typeof value.path === "string";
    default:
      return false;
  }
}

/**
 * The option that names a machine, as a shell takes it; `undefined` for this one, which needs no name, and for a file:
 * what is to be done about what it shows is done on the machine that it is from.
 */
export function sourceOptionOf(source: SourceChoice): string | undefined {
  switch (source.kind) {
    case "nvml":
      return source.library === undefined ? undefined : named(`nvml:${source.library}`);
    case "nvidia-smi":
      return named("nvidia-smi");
    case "sim":
      return named(`sim:${source.directory}`);
    case "file":
      return undefined;
  }
}

function named(source: string): string {
  return `--source ${quoteArguments([source])}`;
}
