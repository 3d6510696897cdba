import { parse as parseToml, TomlError } from "smol-toml";
import { decodeIsolationRules, type RuleFile } from "../lib/model/isolation_rules.ts";
import { locateToml } from "../lib/model/toml_places.ts";

/** Parses a rule file. Never throws: also that it is no TOML is one of its mistakes. */
export function parseRuleFile(text: string): RuleFile {
  const places = locateToml(text);
  try {
    return decodeIsolationRules(parseToml(text), places);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    const place = { line: error.line, column: error.column };
    return { rules: [], default: undefined, places, mistakes: [{ place, message }] };
  }
}
