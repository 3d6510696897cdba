/** Jobs under `gpuctl verify-isolation`, and what it says of them. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { gpuctlCommand } from "./binary.ts";
import { parseDocument } from "./documents.ts";
import type { StartOptions } from "./running_program.ts";
import type { SimulatedServer } from "./sim.ts";
import { temporaryFolder } from "./temporary.ts";

/** The keys of a violation that tests look at. */
export interface ViolationReport {
  readonly index: number;
  readonly pid: number;
  readonly contextBytes: number;
  readonly cause: string;
  readonly explanation: string;
  readonly fix: string;
}

/** The keys of a report that tests look at. */
export interface IsolationReport {
  readonly schema: string;
  readonly simulated: boolean;
  readonly verdict: string;
  readonly gpus: readonly { readonly index: number; readonly allowed: string; readonly verdict: string }[];
  readonly violations: readonly ViolationReport[];
  readonly suspicions: readonly { readonly index: number; readonly growthBytes: number }[];
  readonly notes: readonly string[];
  readonly problems: readonly { readonly message: string }[];
}

export interface VerifyOptions {
  /** Words for gpuctl, before the job. */
  readonly options?: readonly string[];
  readonly env?: NonNullable<StartOptions["env"]>;
}

/** The command line of a job on the simulated server that the environment names. */
export function holdCommand(...words: readonly string[]): readonly string[] {
  return [...gpuctlCommand(), "sim", "hold", ...words];
}

/** Runs a job under `gpuctl verify-isolation --json` and gives its report with how the program ended. */
export async function verify(
  sim: SimulatedServer,
  command: readonly string[],
  { options = [], env = {} }: VerifyOptions = {},
) {
  using folder = temporaryFolder();
  const path = `${folder.path}/report.json`;
  const words = ["verify-isolation", "--json", "-o", path, ...options, "--", ...command];
  const ended = await sim.run(words, { env, within: 60_000 });
  assert.ok(existsSync(path), `no report was written: ${ended.stderr}`);
  return { ...ended, report: parseDocument<IsolationReport>(readFileSync(path, "utf8")) };
}
