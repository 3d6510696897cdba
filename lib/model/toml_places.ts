/** Where the tables and keys of a TOML document stand: the parser keeps no places, and a refusal needs one. */

/** Both from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** Places by the path of a table or key, `rule/0/user`: the first `[[rule]]` is `rule/0`. */
export type TomlPlaces = ReadonlyMap<string, TextPlace>;

const BLANK = /(?:\s|#[^\n]*)+/y;
const HEADER = /\[\[?/y;
const KEY = /[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w-]+)[ \t]*(\.?)/y;
/** One piece of a value: a string of one of four kinds, a comment, a bracket, a line end, or a run of anything else. */
const PIECE =
  /"""(?:[^\\]|\\[^])*?"{3,5}|'''[^]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[[{]|[\]}]|\n|[^"'#[\]{}\n]+|[^]/y;

/** Finds the places of a document that has been parsed already; of any other text it finds what it can. */
export function locateToml(text: string): TomlPlaces {
  const places = new Map<string, TextPlace>();
  const counts = new Map<string, number>();
  let table = "";
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found ?? undefined;
  };
  const takeKey = (): readonly string[] => {
    const names: string[] = [];
    for (let found = take(KEY); found; found = take(KEY)) {
      names.push((found[1] ?? "").replace(/^["'](.*)["']$/s, "$1"));
      if (found[2] === "") break;
    }
    return names;
  };
  const placeAt = counterOf(text);
  const note = (path: string, place: number) => {
    const found = placeAt(place);
    if (!places.has(path)) places.set(path, found);
  };
  while (at < text.length) {
    if (take(BLANK)) continue;
    const start = at;
    const header = take(HEADER)?.[0];
    const names = takeKey();
    if (header === undefined) {
      names.forEach((_, place) => note(join(table, ...names.slice(0, place + 1)), start));
    } else {
      table = openTable(names, header === "[[", counts);
      note(table, start);
    }
    skipLine(take);
  }
  return places;
}

/** Where a key stands, or else the nearest table around it that is known. */
export function placeIn(places: TomlPlaces, path: string): TextPlace {
  for (let around = path; around !== ""; around = around.slice(0, Math.max(0, around.lastIndexOf("/")))) {
    const place = places.get(around);
    if (place) return place;
  }
  return { line: 1, column: 1 };
}

/** The path of a table; of an array of tables each header opens the next one, and what follows is inside the last. */
function openTable(names: readonly string[], isOfArray: boolean, counts: Map<string, number>): string {
  let path = "";
  for (const [place, name] of names.entries()) {
    path = join(path, name);
    if (isOfArray && place === names.length - 1) counts.set(path, (counts.get(path) ?? 0) + 1);
    const count = counts.get(path);
    if (count !== undefined) path = join(path, String(count - 1));
  }
  return path;
}

/** Goes behind the end of a line, whatever stands in it; line ends inside brackets and strings are none. */
function skipLine(take: (pattern: RegExp) => RegExpExecArray | undefined): void {
  let depth = 0;
  for (let piece = take(PIECE)?.[0]; piece !== undefined; piece = take(PIECE)?.[0]) {
    if (piece === "\n" && depth <= 0) return;
    if (piece === "[" || piece === "{") depth++;
    if (piece === "]" || piece === "}") depth--;
  }
}

/** Counts lines and columns of places that are asked for in their order: each line is counted once. */
function counterOf(text: string): (at: number) => TextPlace {
  let line = 1;
  let start = 0;
  return (at) => {
    for (let end = text.indexOf("\n", start); end >= 0 && end < at; end = text.indexOf("\n", start)) {
      line++;
      start = end + 1;
    }
    return { line, column: at - start + 1 };
  };
}

function join(...names: readonly string[]): string {
  return names.filter((name) => name !== "").join("/");
}
