/** The file that says who may use which GPUs of a machine, as it is written. */
import * as v from "valibot";
import { nearest } from "../core/text.ts";
import { placeIn, type TextPlace, type TomlPlaces } from "./toml_places.ts";

/** Something in the file that makes no sense. */
export interface RuleMistake {
  readonly place: TextPlace;
  /** One sentence without its end. */
  readonly message: string;
}

const MUST = {
  names: "must be a text or a list of texts, and none may be empty",
  uids: "must be a user's number such as 1000, or a list of them",
  gpus: 'must be "any", "none", "given", or GPUs such as "0-3" or a list of them',
  exclusive: "must be true or false",
} as const;

const NAME = v.pipe(v.string(), v.trim(), v.nonEmpty());
const NAMES = v.exactOptional(
  v.union(
    [v.pipe(NAME, v.transform((name): readonly string[] => [name])), v.pipe(v.array(NAME), v.nonEmpty())],
    MUST.names,
  ),
);
const USER_NUMBER = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff_ffff));
const USER_NUMBERS = v.exactOptional(v.union([
  v.pipe(USER_NUMBER, v.transform((number): readonly number[] => [number])),
  v.pipe(v.array(USER_NUMBER), v.nonEmpty()),
], MUST.uids));
const GPU = v.union([NAME, v.pipe(v.number(), v.integer(), v.minValue(0), v.transform(String))]);
const GPUS = v.union([
  v.pipe(GPU, v.transform((gpu): readonly string[] => [gpu])),
  v.pipe(v.array(GPU), v.nonEmpty()),
], MUST.gpus);

/** What a rule may name its processes by. */
const NAMING_KEYS = {
  user: NAMES,
  uid: USER_NUMBERS,
  group: NAMES,
  unit: NAMES,
  container: NAMES,
  pod: NAMES,
  "slurm-job": NAMES,
  cgroup: NAMES,
};
const RULE = v.object({
  ...NAMING_KEYS,
  gpus: GPUS,
  exclusive: v.optional(v.boolean(MUST.exclusive), false),
});
const DEFAULT = v.object({ gpus: GPUS });

/** A rule as it is written: which processes it is for, and which GPUs they may use. */
export type RuleText = v.InferOutput<typeof RULE> & RulePosition;
/** What holds for processes that no rule is for. */
export type DefaultText = v.InferOutput<typeof DEFAULT> & RulePosition;

interface RulePosition {
  /** Where it stands in the document, such as `rule/0`. */
  readonly path: string;
}

/** The rules that make sense, in their order, and everything that does not. */
export interface RuleFile {
  readonly rules: readonly RuleText[];
  readonly default: DefaultText | undefined;
  readonly places: TomlPlaces;
  readonly mistakes: readonly RuleMistake[];
}

/** Makes rules of a parsed document. Never throws: whatever is wrong is among the mistakes. */
export function decodeIsolationRules(
  table: Readonly<Record<string, unknown>>,
  places: TomlPlaces,
): RuleFile {
  const mistakes: RuleMistake[] = [];
  const note = (path: string, message: string) => mistakes.push({ place: placeIn(places, path), message });
  for (const name of Object.keys(table).filter((name) => name !== "rule" && name !== "default")) {
    note(name, wrongKey(name, ["rule", "default"]));
  }
  const rules = readRules(table["rule"], note);
  const fallback = table["default"] === undefined ? undefined : readDefault(table["default"], note);
  if (rules.length === 0 && fallback === undefined && mistakes.length === 0) {
    note("", "there is neither a [[rule]] nor a [default]");
  }
  mistakes.sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
  return { rules, default: fallback, places, mistakes };
}

type Note = (path: string, message: string) => void;

function readRules(value: unknown, note: Note): RuleText[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    note("rule", "a rule begins with [[rule]], as there may be several");
    return [];
  }
  return value.flatMap((each: unknown, place): RuleText[] => {
    const path = `rule/${place}`;
    const rule = readTable(each, RULE, { path, note });
    if (rule === undefined) return [];
    if (Object.keys(NAMING_KEYS).some((key) => key in rule)) return [{ ...rule, path }];
    note(path, 'the rule is for nobody: user = "*" is for everybody');
    return [];
  });
}

function readDefault(value: unknown, note: Note): DefaultText | undefined {
  const fallback = readTable(value, DEFAULT, { path: "default", note });
  return fallback && { ...fallback, path: "default" };
}

/** One table, or nothing where anything in it is wrong. All of that is noted. */
function readTable<const Schema extends typeof RULE | typeof DEFAULT>(
  value: unknown,
  schema: Schema,
  { path, note }: { readonly path: string; readonly note: Note },
): v.InferOutput<Schema> | undefined {
  const keys = Object.keys(schema.entries);
  const given = typeof value === "object" && value !== null ? Object.keys(value) : [];
  const wrong = given.filter((key) => !keys.includes(key));
  for (const key of wrong) note(`${path}/${key}`, wrongKey(key, keys));
  // A wrong key and the missing one that it stands for are one mistake.
  const meant = new Set(wrong.map((key) => nearest(key, keys)));
  const read = v.safeParse(schema, value);
  for (const issue of read.issues ?? []) {
    const key = issue.path?.[0]?.key;
    if (typeof key !== "string") note(path, "this must be a table");
    else if (given.includes(key)) note(`${path}/${key}`, `"${key}" ${issue.message}`);
    else if (!meant.has(key)) note(path, `there is no "${key}" in it`);
  }
  return read.success && wrong.length === 0 ? read.output : undefined;
}

function wrongKey(name: string, keys: readonly string[]): string {
  const near = nearest(name, keys);
  const hint = near === undefined ? `there are: ${keys.join(", ")}` : `did you mean "${near}"?`;
  return `there is no key "${name}"; ${hint}`;
}
