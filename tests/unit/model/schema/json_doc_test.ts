import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { WHYS } from "../../../../lib/core/reading.ts";
import { END_OUTCOMES } from "../../../../lib/model/cleanup.ts";
import { DIFF_VERDICTS } from "../../../../lib/model/diff.ts";
import { CHECK_STATUSES } from "../../../../lib/model/doctor.ts";
import { RESET_ADVICE, RESET_OUTCOMES } from "../../../../lib/model/reset.ts";
import { DOCUMENTS, shortNameOf } from "../../../../lib/model/schema/documents.ts";
import { ALERT_KINDS } from "../../../../lib/model/watch.ts";
import { renderSnapshotCsv } from "../../../../lib/render/snapshot_csv.ts";
import { publishedSchema } from "../../../support/documents.ts";
import { assertGolden } from "../../../support/golden.ts";
import { WORLDS } from "../../../support/worlds.ts";

const ROOT = new URL("../../../../", import.meta.url);
const TEXT = readFileSync(new URL("docs/json.md", ROOT), "utf8");

/** The rows of the table below a heading whose first column is called so. */
function rowsBelow(heading: string, column: string): string[][] {
  const [, section = ""] = TEXT.split(new RegExp(`^#+ ${heading}$`, "m"));
  const [body = ""] = section.split(/^#/m);
  const lines = body.split("\n");
  const start = lines.findIndex((line) => cellsOf(line)[0] === column);
  assert.notEqual(start, -1, `no table of "${column}" below "${heading}"`);
  const end = lines.findIndex((line, place) => place > start && !line.startsWith("|"));
  return lines.slice(start + 2, end).map(cellsOf);
}

function cellsOf(line: string): string[] {
  return line.split("|").slice(1, -1).map((cell) => cell.trim());
}

/** Each key of a kind of document with its description, as the first line or the document that has it says. */
function keysOf(name: string): string[][] {
  const schema = publishedSchema(name);
  const parts = schema.properties
    ? [schema]
    : schema.anyOf.map(({ $ref }: { $ref: string }) => schema.$defs[$ref.replace("#/$defs/", "")]);
  const keys = new Map<string, string>();
  for (const { properties } of parts) {
    for (const [key, { description }] of Object.entries<{ description: string }>(properties)) {
      if (!keys.has(key)) keys.set(key, description);
    }
  }
  return [...keys].map(([key, description]) => [`\`${key}\``, description]);
}

/** A text with these rows, of which the first is the header, in the place of the table below a heading with that header. */
function withTable(text: string, heading: string, [header = [], ...rows]: readonly string[][]): string {
  const lines = text.split("\n");
  const below = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
  const start = lines.findIndex((line, place) => place > below && cellsOf(line)[0] === header[0]);
  const end = lines.findIndex((line, place) => place > start && !line.startsWith("|"));
  assert.ok(below >= 0 && start > below, `no table of "${header[0]}" below "${heading}"`);
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((cells) => cells[column]?.length ?? 0))
  );
  const draw = (cells: readonly string[], blank = " ") =>
    `|${cells.map((cell, column) => ` ${cell.padEnd(widths[column] ?? 0, blank)} `).join("|")}|`;
  const table = [draw(header), draw(header.map(() => ""), "-"), ...rows.map((row) => draw(row))];
  return lines.toSpliced(start, end - start, ...table).join("\n");
}

const quoted = (words: readonly string[]) => words.map((word) => `\`${word}\``);

test("docs/json.md lists every document, and has the keys of each as its schema has them", () => {
  const list = DOCUMENTS.map((each) => {
    const short = shortNameOf(each);
    return [`[\`${short}\`](#${short})`, `\`${each.name}\``, each.summary];
  });
  const listed = withTable(TEXT, "Documents for programs", [["name", "`schema`", "what"], ...list]);
  const whole = DOCUMENTS.reduce(
    (text, each) => withTable(text, shortNameOf(each), [["key", "what"], ...keysOf(each.name)]),
    listed,
  );
  assertGolden("../../docs/json.md", whole);
});

test("docs/json.md explains every reason, verdict and outcome", () => {
  const explained = ([
    ["What null means", "why"],
    ["diff", "verdict"],
    ["clean-zombies", "outcome"],
    ["reset", "advice"],
    ["reset", "outcome"],
    ["watch", "kind"],
    ["doctor", "status"],
  ] as const).map(([heading, column]) => rowsBelow(heading, column).map(([word]) => word));
  const words = [
    WHYS,
    DIFF_VERDICTS,
    END_OUTCOMES,
    RESET_ADVICE,
    RESET_OUTCOMES,
    ALERT_KINDS,
    CHECK_STATUSES,
  ];
  assert.deepEqual(explained, words.map(quoted));
});

test("docs/json.md has the columns of the CSV table in their order", () => {
  const [header = ""] = renderSnapshotCsv(WORLDS.idle).split("\n");
  assert.deepEqual(rowsBelow("The CSV table", "column").map(([column]) => column), quoted(header.split(",")));
});

test("README.md and docs/json.md link to files that are there", () => {
  const links = (text: string) => [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = ""]) => path);
  const readme = links(readFileSync(new URL("README.md", ROOT), "utf8"));
  assert.ok(readme.includes("docs/json.md"));
  const missing = [
    ...readme.map((path) => new URL(path, ROOT)),
    ...links(TEXT).map((path) => new URL(path, new URL("docs/", ROOT))),
  ].filter((url) => !existsSync(url));
  assert.deepEqual(missing, []);
});
