import type { Call } from "./evaluate.ts";
import { UNKNOWN, type Value } from "./program.ts";

/** What a call of a function outside the sources gives, for the few whose result says something about GPUs. */
export function resultOfCall({ callee, receiver, method, positional, keywords, hasSpread }: Call): Value {
  const [first] = positional;
  if (receiver.kind === "text" && method === "join" && first?.kind === "list") {
    return joinTexts(receiver.text, first.items);
  }
  if (callee.kind !== "name") return UNKNOWN;
  switch (callee.name) {
    case "builtins.str":
      return toText(first);
    case "builtins.dict":
      return first === undefined || first.kind === "mapping"
        ? {
          kind: "mapping",
          entries: [...first?.entries ?? [], ...keywords],
          isWhole: !hasSpread && first?.isWhole !== false,
        }
        : { kind: "mapping", entries: keywords, isWhole: false };
    case "jax.jit":
    case "jax.grad":
      return { kind: "name", name: `${callee.name}()` };
    case "torch.device":
      return first?.kind === "text"
        ? { kind: "device", isCuda: first.text === "cuda" || first.text.startsWith("cuda:") }
        : UNKNOWN;
  }
  return UNKNOWN;
}

function joinTexts(separator: string, items: readonly Value[]): Value {
  const texts = items.flatMap((item) => item.kind === "text" ? [item.text] : []);
  return texts.length === items.length ? { kind: "text", text: texts.join(separator) } : UNKNOWN;
}

function toText(value: Value | undefined): Value {
  if (value?.kind === "text") return value;
  return value?.kind === "constant" ? { kind: "text", text: value.text } : UNKNOWN;
}
