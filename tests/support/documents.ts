/** Holds documents of gpuctl against the JSON Schemas that it prints, by a validator that knows nothing of ours. */
import assert from "node:assert/strict";
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from "ajv/dist/2020.js";
import { DOCUMENTS } from "../../lib/model/schema/documents.ts";
import { renderJsonSchema } from "../../lib/render/json_schema.ts";

/** `open` is the schema as it is printed; `closed` refuses keys that it does not name as well, so that none is forgotten in it. */
export type Strictness = "open" | "closed";

const validators = new Map<string, ValidateFunction>();

/** Parses what gpuctl wrote. @throws {AssertionError} if it is not as its schema says */
export function parseDocument<Shape>(text: string): Shape {
  const value = JSON.parse(text);
  assertDocument(value);
  return value;
}

/** The same for lines, of which the first says what they are. */
export function parseDocumentLines<Shape>(text: string): Shape[] {
  const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  for (const line of lines) assertDocument(line, nameOf(lines[0]));
  return lines;
}

/** @throws {AssertionError} if a value is not as the schema that it names says, or has a key that is not in it */
export function assertDocument(value: unknown, name = nameOf(value)): void {
  for (const strictness of ["open", "closed"] as const) {
    const validate = validatorOf(name, strictness);
    if (!validate(value)) {
      assert.fail(`not as the ${strictness} schema of ${name} says: ${JSON.stringify(validate.errors)}`);
    }
  }
}

/** What the printed schema of a kind of document makes of a value. */
export function validatorOf(name: string, strictness: Strictness): ValidateFunction {
  const key = `${strictness} ${name}`;
  const made = validators.get(key);
  if (made !== undefined) return made;
  const schema = publishedSchema(name);
  const validate = new Ajv2020({ strict: true }).compile(
    strictness === "open" ? schema : refuseUnknownKeys(schema),
  );
  validators.set(key, validate);
  return validate;
}

/** The JSON Schema that `gpuctl schema NAME` prints. */
export function publishedSchema(name: string): AnySchemaObject {
  const found = DOCUMENTS.find((each) => each.name === name);
  if (found === undefined) assert.fail(`there is no schema of ${JSON.stringify(name)}`);
  return JSON.parse(renderJsonSchema(found));
}

function nameOf(value: unknown): string {
  const isNamed = typeof value === "object" && value !== null && "schema" in value;
  return isNamed ? String(value.schema) : assert.fail(`no document of ours: ${JSON.stringify(value)}`);
}

function refuseUnknownKeys<Part>(part: Part): Part {
  return JSON.parse(JSON.stringify(part), (_, value: unknown) => {
    const isClosable = typeof value === "object" && value !== null && "type" in value &&
      value.type === "object" && "properties" in value;
    return isClosable ? { ...value, additionalProperties: false } : value;
  });
}
