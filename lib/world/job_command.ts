/** A command's words and environment as bytes, exactly as we were given them: file names need not be UTF-8. */
import { existsSync, readFileSync, statSync } from "node:fs";
import process from "node:process";

const NUL = 0;

/**
 * The words of a command that stood at the end of our own command line. Their bytes are taken from there, as long as they
 * read as the words do; a command from elsewhere is encoded.
 */
export function ownWords(command: readonly string[]): Uint8Array[] {
  const given = command.length === 0
    ? []
    : splitAtNul(readFileSync("/proc/self/cmdline")).slice(-command.length);
  const decoder = new TextDecoder();
  const isSame = given.length === command.length &&
    command.every((word, place) => decoder.decode(given[place]) === word);
  return isSame ? given : command.map((word) => new TextEncoder().encode(word));
}

/** Our environment as it was when we were started, with some variables set. */
export function jobEnvironment(changes: Readonly<Record<string, string>>): Uint8Array[] {
  const names = Object.keys(changes);
  const decoder = new TextDecoder();
  const kept = splitAtNul(readFileSync("/proc/self/environ")).filter((entry) => {
    const text = decoder.decode(entry);
    return !names.some((name) => text.startsWith(`${name}=`));
  });
  return [...kept, ...names.map((name) => new TextEncoder().encode(`${name}=${changes[name]}`))];
}

/** Where a script lies that was found on PATH; as given if its name has a slash. */
export function resolveScript(program: Uint8Array): Uint8Array {
  const name = new TextDecoder().decode(program);
  if (name.includes("/")) return program;
  const folder = (process.env["PATH"] ?? "/bin:/usr/bin").split(":")
    .find((folder) => isRunnableFile(`${folder || "."}/${name}`));
  return folder === undefined ? program : new TextEncoder().encode(`${folder || "."}/${name}`);
}

function isRunnableFile(path: string): boolean {
  if (!existsSync(path)) return false;
  const found = statSync(path);
  return found.isFile() && (found.mode & 0o111) !== 0;
}

function splitAtNul(text: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let start = 0; start < text.length;) {
    const end = text.indexOf(NUL, start);
    parts.push(text.subarray(start, end < 0 ? text.length : end));
    start = end < 0 ? text.length : end + 1;
  }
  return parts;
}
