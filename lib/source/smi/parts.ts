/** Finds the outputs in a text, whatever stands around them. */
import { absent } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import { beginsFuser, readFuser } from "../fuser.ts";
import { beginsLsof, readLsof } from "../lsof.ts";
import { splitLines } from "./clean.ts";
import { CSV_FORMAT, HEADLESS_CSV_FORMAT } from "./csv.ts";
import { GPU_LIST_FORMAT } from "./gpu_list.ts";
import { DMON_FORMAT, PMON_FORMAT } from "./monitor.ts";
import { QUERY_TEXT_FORMAT } from "./query_text.ts";
import { parseQueryXml } from "./query_xml.ts";
import { emptyPart, type LineFormat, type RawExtent, type RawPart } from "./raw.ts";
import { REFUSAL_FORMAT } from "./refusal_format.ts";
import { TABLE_FORMAT } from "./table.ts";
import { VERSION_FORMAT } from "./version.ts";

/** In this order a line is offered to them. What is easily mistaken comes last. */
const FORMATS: readonly LineFormat[] = [
  TABLE_FORMAT,
  QUERY_TEXT_FORMAT,
  GPU_LIST_FORMAT,
  PMON_FORMAT,
  DMON_FORMAT,
  VERSION_FORMAT,
  REFUSAL_FORMAT,
  holderFormat("fuser"),
  holderFormat("lsof"),
  CSV_FORMAT,
  HEADLESS_CSV_FORMAT,
];
/** Where a document begins: its declaration, its DOCTYPE or its root. */
const XML_START =
  /(?:<\?xml[^>]{0,200}\?>\s{0,20})?(?:<!DOCTYPE\s{1,5}nvidia_smi_log|<nvidia_smi_log(?=[\s>/]))/g;
const XML_END = "</nvidia_smi_log>";

/**
 * The outputs that a clean text holds, in its order. `parseXml` reads the last XML document; the earlier ones are looks
 * that the last one replaces.
 *
 * @throws {SyntaxError} if that document is cut off or not well-formed.
 */
export function findParts(text: string, parseXml: typeof parseQueryXml = parseQueryXml): RawPart[] {
  const { documents, rest } = takeDocuments(text);
  const parts = documents.map(({ xml, line }, place) =>
    place === documents.length - 1 ? parseXml(xml, line) : emptyPart("query-xml", line)
  );
  const { lines, tooLong, isCut } = splitLines(rest);
  for (let at = 0; at < lines.length;) {
    const format = lines[at]?.trim() === "" ? undefined : FORMATS.find((each) => each.begins(lines, at));
    if (!format) {
      at++;
      continue;
    }
    const { part, end } = format.read(lines, at);
    if (isCut && end >= lines.length) {
      const message = "The text ends within a line: its last value may be cut and was not read";
      part.problems.add("text", absent("not-reported"), message);
    }
    parts.push(part);
    at = Math.max(end, at + 1);
  }
  if (tooLong > 0) {
    const message = `${plural(tooLong, "line is", "lines are")} longer than any of nvidia-smi and not read`;
    parts[0]?.problems.add("text", absent("implausible"), message);
  }
  return parts.sort((a, b) => a.line - b.line);
}

/** The XML documents with the number of their first line, and the text with empty lines in their place. */
function takeDocuments(text: string): { documents: { xml: string; line: number }[]; rest: string } {
  const documents: { xml: string; line: number }[] = [];
  const rest: string[] = [];
  let end = 0;
  let line = 0;
  for (const { index } of text.matchAll(XML_START)) {
    if (index < end) continue;
    const before = text.slice(end, index);
    const close = text.indexOf(XML_END, index);
    end = close === -1 ? text.length : close + XML_END.length;
    const xml = text.slice(index, end);
    const height = countLineEnds(xml);
    line += countLineEnds(before);
    documents.push({ xml, line });
    rest.push(before, "\n".repeat(height));
    line += height;
  }
  return { documents, rest: documents.length === 0 ? text : rest.join("") + text.slice(end) };
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function holderFormat(kind: "fuser" | "lsof"): LineFormat {
  const [begins, read] = kind === "fuser" ? [beginsFuser, readFuser] : [beginsLsof, readLsof];
  return {
    begins,
    read(lines, at): RawExtent {
      const { holders, unreadable, end } = read(lines, at);
      const part = { ...emptyPart(kind, at), holders };
      for (const line of unreadable) {
        part.problems.addLine(line + 1, lines[line] ?? "", "a process and a device node");
      }
      return { part, end };
    },
  };
}
