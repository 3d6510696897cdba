/** `gpuctl schema`: what stands in the documents that programs read. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { nearest } from "../lib/core/text.ts";
import type { DocumentSchema } from "../lib/model/schema/documents.ts";
import type { Files, Terminal } from "../lib/world/ports.ts";
import { newCommand } from "./options.ts";

interface SchemaWorld {
  readonly terminal: Pick<Terminal, "out">;
  readonly files: Pick<Files, "writeWhole">;
}

/** Builds the command. */
export function schemaCommand(world: SchemaWorld, end: (ending: Ending) => void): CommandUnknownOpts {
  return newCommand("schema", "print the JSON Schema of what --json and the like write")
    .description(
      "Prints the JSON Schema (draft 2020-12) of a document that gpuctl writes for programs; without a name it lists " +
        "them. Every document says under its key `schema` which one it is, and that is a name as well:\n\n" +
        '  gpuctl schema "$(jq -r .schema report.json)"',
    )
    .argument("[name]", "one of those listed, such as snapshot or gpuctl.snapshot/1")
    .option("-o, --output <file>", "write to a file: whole or not at all")
    .action(async (name, { output }) => {
      const text = name === undefined ? await listDocuments() : await renderNamed(name);
      if (output === undefined) world.terminal.out(text);
      else world.files.writeWhole(output, text, { isWorldReadable: true });
      end("ok");
    });
}

async function listDocuments(): Promise<string> {
  const { DOCUMENTS, shortNameOf } = await import("../lib/model/schema/documents.ts");
  const { renderTable } = await import("../lib/render/table.ts");
  return renderTable<DocumentSchema>(DOCUMENTS, [
    { title: "NAME", align: "left", cell: shortNameOf },
    { title: "SCHEMA", align: "left", cell: ({ name }) => name },
    { title: "OF", align: "left", cell: ({ summary }) => summary },
  ]);
}

async function renderNamed(name: string): Promise<string> {
  const [{ DOCUMENTS, shortNameOf }, { renderJsonSchema }] = await Promise.all([
    import("../lib/model/schema/documents.ts"),
    import("../lib/render/json_schema.ts"),
  ]);
  const found = DOCUMENTS.find((each) => each.name === name || shortNameOf(each) === name);
  if (found !== undefined) return renderJsonSchema(found);
  const near = nearest(name, DOCUMENTS.flatMap((each) => [shortNameOf(each), each.name]));
  throw new GpuctlError("usage", `Cannot print the schema "${name}": there is no such document`, {
    hint: near === undefined ? "gpuctl schema lists them" : `did you mean gpuctl schema ${near}?`,
  });
}
