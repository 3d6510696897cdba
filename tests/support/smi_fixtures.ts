import { readFileSync } from "node:fs";
import type { SmiSummary } from "./smi_summary.ts";

const FOLDER = new URL("../fixtures/smi/", import.meta.url);

/** One fixture: where it comes from, what prints it, and what it says. */
export interface SmiFixture {
  readonly file: string;
  readonly origin: string;
  readonly command: string;
  /** In words; `reading` has it in full. */
  readonly expected: string;
  readonly reading?: SmiSummary;
  /** The message, for a text that holds no output. */
  readonly refused?: string;
}

/** Every fixture of nvidia-smi, fuser and lsof. */
export function readSmiManifest(): readonly SmiFixture[] {
  return JSON.parse(readSmiFixture("manifest.json"));
}

/** The text of a fixture. */
export function readSmiFixture(file: string): string {
  return readFileSync(new URL(file, FOLDER), "utf8");
}
