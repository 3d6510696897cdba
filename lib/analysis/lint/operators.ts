/** What Python's operators make of constants. */
import { UNKNOWN, type Value } from "./program.ts";

/** `first sign second`. */
export function combine(sign: string, first: Value, second: Value): Value {
  if (first.kind === "text" && second.kind === "text") {
    if (sign === "+") return textValue(first.text + second.text);
    if (sign === "==") return booleanValue(first.text === second.text);
    if (sign === "!=") return booleanValue(first.text !== second.text);
  }
  return sign === "|" ? merge(first, second) : UNKNOWN;
}

/** `not value`, `-value`. */
export function applySign(sign: string, value: Value): Value {
  if (value.kind !== "constant") return UNKNOWN;
  if (sign === "not") return booleanValue(!value.truth);
  return sign === "-" && value.type !== "bool" ? { ...value, text: `-${value.text}` } : UNKNOWN;
}

/** Literals side by side. */
export function concatenate(parts: readonly Value[]): Value {
  let text = "";
  for (const part of parts) {
    if (part.kind !== "text") return UNKNOWN;
    text += part.text;
  }
  return textValue(text);
}

/** A literal number. */
export function numberValue(text: string): Value {
  const isHex = text.toLowerCase().startsWith("0x");
  const isFloat = !isHex && [".", "e", "E", "j", "J"].some((mark) => text.includes(mark));
  const type = !isFloat ? "int" : text.toLowerCase().endsWith("j") ? "complex" : "float";
  return { kind: "constant", type, text, truth: Number(text.replaceAll("_", "")) !== 0 };
}

/** `True` or `False`. */
export function booleanValue(truth: boolean): Value {
  return { kind: "constant", type: "bool", text: truth ? "True" : "False", truth };
}

/** A text, if it could be decoded. */
export function textValue(text: string | undefined): Value {
  return text === undefined ? UNKNOWN : { kind: "text", text };
}

/** `first | second` of mappings: the later entry of a key wins. */
function merge(first: Value, second: Value): Value {
  if (first.kind !== "mapping" && second.kind !== "mapping") return UNKNOWN;
  const parts = [first, second].map((part) => part.kind === "mapping" ? part : undefined);
  return {
    kind: "mapping",
    entries: parts.flatMap((part) => part?.entries ?? []),
    isWhole: parts.every((part) => part?.isWhole === true),
  };
}
