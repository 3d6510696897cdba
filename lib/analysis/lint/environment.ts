/** Recognises what changes the environment of the process, or looks as if it did. */
import type { Call } from "./evaluate.ts";
import type { MappingEntry, Value } from "./program.ts";

/** The variables that CUDA reads when it starts. */
export const READ_BY_CUDA = ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"] as const;
/** One of them. */
export type CudaVariable = typeof READ_BY_CUDA[number];

/** One thing done to the environment. */
export type EnvironmentAct =
  | { readonly kind: "set"; readonly variable: string; readonly value: Value; readonly isDefault: boolean }
  | { readonly kind: "remove"; readonly variable: string }
  /** Something is set or removed, and its name is not known. */
  | { readonly kind: "unclear" }
  /** `os.environ` itself is assigned: the new object changes nothing in the process. */
  | { readonly kind: "replace" }
  /** A shell sets it for itself and ends. */
  | { readonly kind: "subshell"; readonly variable: CudaVariable };

const ENVIRONMENTS: ReadonlySet<string> = new Set(["os.environ", "os.environb", "posix.environ"]);
/** Functions whose first argument a shell runs. */
const SHELLS: ReadonlySet<string> = new Set([
  "os.system",
  "os.popen",
  "subprocess.run",
  "subprocess.call",
  "subprocess.check_call",
  "subprocess.check_output",
  "subprocess.Popen",
  "subprocess.getoutput",
  "commands.getoutput",
]);

/** Whether a value is the environment of the process. */
export function isEnvironment(value: Value): boolean {
  return value.kind === "name" && ENVIRONMENTS.has(value.name);
}

/** Whether a variable is one that CUDA reads. */
export function isCudaVariable(variable: string): variable is CudaVariable {
  return READ_BY_CUDA.some((known) => known === variable);
}

/** What `os.environ[key] = value` does. */
export function setItem(key: Value, value: Value): EnvironmentAct {
  return key.kind === "text"
    ? { kind: "set", variable: key.text, value, isDefault: false }
    : { kind: "unclear" };
}

/** What `del os.environ[key]` does. */
export function removeItem(key: Value): EnvironmentAct {
  return key.kind === "text" ? { kind: "remove", variable: key.text } : { kind: "unclear" };
}

/** What `os.environ |= mapping` does. */
export function mergeMapping(mapping: Value): readonly EnvironmentAct[] {
  if (mapping.kind !== "mapping") return [{ kind: "unclear" }];
  return [...setAll(mapping.entries), ...(mapping.isWhole ? [] : [{ kind: "unclear" } as const])];
}

/** What a call does to the environment; nothing, for most. */
export function actsOfCall(call: Call): readonly EnvironmentAct[] {
  const { callee, positional } = call;
  if (callee.kind !== "name") return [];
  const [first = MISSING, second = MISSING] = positional;
  switch (callee.name) {
    case "os.putenv":
      return [setItem(first, second)];
    case "os.unsetenv":
      return [removeItem(first)];
  }
  if (SHELLS.has(callee.name)) return first.kind === "text" ? actsOfCommand(first.text) : [];
  const dot = callee.name.lastIndexOf(".");
  if (!ENVIRONMENTS.has(callee.name.slice(0, dot))) return [];
  switch (callee.name.slice(dot + 1)) {
    case "__setitem__":
      return [setItem(first, second)];
    case "setdefault":
      return first.kind === "text"
        ? [{ kind: "set", variable: first.text, value: second, isDefault: true }]
        : [{ kind: "unclear" }];
    case "update":
      return [
        ...positional.flatMap(mergeMapping),
        ...setAll(call.keywords),
        ...(call.hasSpread ? [{ kind: "unclear" } as const] : []),
      ];
    case "pop":
    case "__delitem__":
      return [removeItem(first)];
    case "clear":
      return [{ kind: "remove", variable: "CUDA_VISIBLE_DEVICES" }];
  }
  return [];
}

const MISSING: Value = { kind: "unknown" };

function setAll(entries: readonly MappingEntry[]): readonly EnvironmentAct[] {
  return entries.map(({ key, value }) => ({ kind: "set", variable: key, value, isDefault: false }));
}

/** What a command of its own shell does: `export NAME=...` alone is gone with the shell. */
export function actsOfCommand(command: string): readonly EnvironmentAct[] {
  const words = command.split(" ").filter((word) => word !== "");
  const [keyword, assignment = "", ...others] = words;
  if (others.length > 0 || keyword !== "export" && keyword !== "set") return [];
  const variable = READ_BY_CUDA.find((known) => assignment.startsWith(`${known}=`));
  return variable ? [{ kind: "subshell", variable }] : [];
}
