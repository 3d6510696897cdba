/** How values stand in unit files, so that systemd reads back exactly what was meant: systemd.syntax(7). */
import type { Milliseconds } from "../core/units.ts";

/** What needs no quotes in a command line, and what needs none in a list of paths, where a colon separates. */
const PLAIN_ARGUMENT = /^[\w@+=:,./-]+$/;
const PLAIN_PATH = /^[\w@+=,./-]+$/;
/** What must not stand in a file that people look at, and a line break, which would begin another setting. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * An argument of a command line: quoted, C escapes (systemd.service(5), "Command lines"), specifiers (systemd.unit(5)) and
 * variables doubled. In quotes a lone `;` does not begin another command.
 */
export function formatUnitArgument(word: string): string {
  return formatUnitProgram(word).replaceAll("$", "$$$$");
}

/** The program of a command line: like an argument, but no variable is looked for in it. */
export function formatUnitProgram(path: string): string {
  if (PLAIN_ARGUMENT.test(path)) return path;
  return `"${path.replaceAll("%", "%%").replace(/[\\"]/g, "\\$&").replace(UNSAFE, escapeCode)}"`;
}

/** An entry of a list of paths, in which there are no C escapes: a path with a control character cannot stand there. */
export function formatUnitPath(path: string): string {
  return PLAIN_PATH.test(path) ? path : `"${path.replaceAll("%", "%%").replace(/[\\"]/g, "\\$&")}"`;
}

/** A span in the largest unit of systemd.time(7) that it is a whole number of. */
export function formatUnitSpan(span: Milliseconds): string {
  const whole = Math.round(span);
  if (whole % 60_000 === 0) return `${whole / 60_000}min`;
  return whole % 1000 === 0 ? `${whole / 1000}s` : `${whole}ms`;
}

function escapeCode(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}
