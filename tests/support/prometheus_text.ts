/**
 * Reads Prometheus' text format 0.0.4 as its specification has it, apart from the code under test: one line at a time, and
 * nothing is forgiven.
 */

export interface PromSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface PromText {
  readonly remarks: readonly string[];
  readonly help: ReadonlyMap<string, string>;
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly PromSample[];
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy;
const ESCAPED: Readonly<Record<string, string>> = { "\\\\": "\\", '\\"': '"', "\\n": "\n" };

/** @throws {SyntaxError} if a line is not of the format, has no TYPE above it, or is there twice. */
export function parsePrometheus(text: string): PromText {
  if (text !== "" && !text.endsWith("\n")) throw new SyntaxError("the last line has no end");
  const remarks: string[] = [];
  const help = new Map<string, string>();
  const types = new Map<string, string>();
  const samples: PromSample[] = [];
  const seen = new Set<string>();
  let family: string | undefined;
  for (const line of text.split("\n").slice(0, -1)) {
    const fail = (why: string) => new SyntaxError(`${why}: ${JSON.stringify(line)}`);
    const [, kind, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind !== undefined) {
      const known = kind === "HELP" ? help : types;
      if (known.has(name)) throw fail("a second one");
      known.set(name, rest);
      family = name;
    } else if (line.startsWith("# ")) {
      remarks.push(line.slice(2));
    } else {
      const sample = parseSample(line);
      if (sample === undefined) throw fail("no sample");
      if (sample.name !== family || !types.has(family)) throw fail("not below its TYPE");
      const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      if (seen.has(key)) throw fail("a second sample");
      seen.add(key);
      samples.push(sample);
    }
  }
  return { remarks, help, types, samples };
}

function parseSample(line: string): PromSample | undefined {
  const [, name, labels, value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || value === undefined) return undefined;
  const pairs: [string, string][] = [];
  let end = 0;
  for (const [pair, key = "", escaped = ""] of (labels ?? "").matchAll(LABEL)) {
    end += pair.length;
    pairs.push([key, escaped.replace(/\\./g, (two) => ESCAPED[two] ?? two)]);
  }
  if (end !== (labels ?? "").length || new Set(pairs.map(([key]) => key)).size !== pairs.length) {
    return undefined;
  }
  return { name, labels: Object.fromEntries(pairs), value: Number(value.replace("Inf", "Infinity")) };
}

/** The samples of one metric in the order in which they stand: labels and value. */
export function valuesOf({ samples }: PromText, name: string): readonly (readonly [object, number])[] {
  return samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels, value]);
}
