/** A document's schema as other programs read it: JSON Schema, draft 2020-12. */
import { toJsonSchema } from "@valibot/to-json-schema";
import type { DocumentSchema } from "../model/schema/documents.ts";
import { renderJson } from "./json.ts";

const RULES =
  "Keys may be added within a version, and none changes its meaning: pass over those that you do not know.";

/** Writes the JSON Schema of one kind of document. It lets keys be that it does not know. */
export function renderJsonSchema({ name, summary, schema, parts }: DocumentSchema): string {
  const { $schema, $defs, ...root } = toJsonSchema(schema, {
    target: "draft-2020-12",
    definitions: { ...parts },
  });
  return renderJson({
    $schema,
    $id: `urn:${name.replace(".", ":")}`,
    title: name,
    description: `${summary}. ${RULES}`,
    ...root,
    $defs,
  });
}
