/** `gpuctl reset-gpu` on the stand-ins for the driver's library, nvidia-smi and systemctl. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gpuctlCommand, withRuntime } from "./binary.ts";
import { parseDocument, parseDocumentLines } from "./documents.ts";
import { buildStub, type Scenario, SCENARIO_VARIABLE, type Stub, writeScenario } from "./nvml_stub.ts";
import { ownMachine, type OwnMachineOptions } from "./own_machine.ts";
import { type ResetSmi, resetSmi, type SmiOrder, type SmiOrderAnswer } from "./reset_smi.ts";
import {
  type Ended,
  type RunningProgram,
  runProgram,
  type StartOptions,
  startProgram,
} from "./running_program.ts";
import { temporaryFolder } from "./temporary.ts";

/** The keys of a reset that these tests look at. */
export interface ResetLook {
  readonly warranted: boolean | null;
  readonly outcome: string;
  readonly gpus: readonly {
    readonly index: number;
    readonly advice: string;
    readonly back: boolean | null;
    readonly memoryUsedBeforeBytes: number | null;
    readonly memoryUsedAfterBytes: number | null;
    readonly faults: readonly string[];
  }[];
  readonly blockers: readonly {
    readonly kind: string;
    readonly pid: number | null;
    readonly clearedBy: string;
  }[];
  readonly steps: readonly {
    readonly kind: string;
    readonly unit: string | null;
    readonly command: readonly string[] | null;
    readonly state: string;
    readonly answer: string | null;
  }[];
}

/** Reads what a run wrote. @throws {AssertionError} if it did not end with this status, or complained */
export function readReset({ status, stdout, stderr }: Ended, expected: number): ResetLook {
  assert.deepEqual({ status, stderr }, { status: expected, stderr: "" }, stdout);
  return parseDocument(stdout);
}

/** How each step ended: `persistence-off done`. */
export function statesOf({ steps }: ResetLook): string[] {
  return steps.map(({ kind, unit, state }) => [kind, ...unit === null ? [] : [unit], state].join(" "));
}

/** What came of the first step of a kind, in words. */
export function answerTo(kind: string, { steps }: ResetLook): string | null | undefined {
  return steps.find((step) => step.kind === kind)?.answer;
}

/** Orders with the GPUs that they name, and how they ended. */
export function callsOf({ smi }: ResetMachine): string[] {
  return smi.calls().map(({ order, buses, status }) => `${order} ${buses.join(",")} ${status}`);
}

/** Events of a record with what they are about: `intent reset planned`. */
export function readStepRecords(path: string): string[] {
  if (!existsSync(path)) return [];
  const lines: { readonly event: string; readonly step: ResetLook["steps"][number] }[] = parseDocumentLines(
    readFileSync(path, "utf8"),
  );
  return lines.map(({ event, step }) => `${event} ${step.kind} ${step.state}`);
}

export interface ResetMachineOptions extends OwnMachineOptions {
  readonly scenario?: Scenario;
  readonly answers?: Partial<Record<SmiOrder, SmiOrderAnswer>>;
}

/** A machine with one GPU, or as many as its scenario has. */
export interface ResetMachine extends Disposable {
  /** The driver's library and the scenario that it answers from. */
  readonly stub: Pick<Stub, "library" | "scenario">;
  /** A place for files. */
  readonly path: string;
  readonly smi: ResetSmi;
  readonly auditLog: string;
  /** Orders that systemctl got. */
  orders(): readonly string[];
  /** What the driver says of persistence mode, by GPU. */
  persistence(): readonly string[];
  /** Runs `gpuctl reset-gpu` with these words to its end. */
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  start(args: readonly string[], options?: RunOptions): RunningProgram;
  release(name: string): void;
}

export interface RunOptions extends StartOptions {
  /** Words in front of gpuctl. */
  readonly as?: readonly string[];
  /** Words behind all others. */
  readonly lastWords?: readonly string[];
}

const PLAIN: Scenario = { gpus: [{}] };

/** Makes machines whose driver is one and the same library. Dispose of it when all tests of a file are over. */
export interface ResetMachines extends Disposable {
  make(options?: ResetMachineOptions): ResetMachine;
}

/** Compiles the driver's library. */
export function openResetMachines(): ResetMachines {
  const stub = buildStub();
  return {
    make: (options = {}) => makeMachine(stub.library, options),
    [Symbol.dispose]: () => stub[Symbol.dispose](),
  };
}

function makeMachine(
  library: string,
  { scenario = PLAIN, answers, ...own }: ResetMachineOptions,
): ResetMachine {
  const folder = temporaryFolder();
  const stub = { library, scenario: join(folder.path, "scenario") };
  writeScenario(stub, scenario);
  // Whoever runs gpuctl here may be another user.
  for (const path of [folder.path, dirname(library)]) chmodSync(path, 0o755);
  const smi = resetSmi(folder, stub.scenario, answers);
  const machine = ownMachine(folder, own);
  const auditLog = join(folder.path, "audit", "audit.jsonl");
  const commandOf = (args: readonly string[], { as = [], lastWords = [] }: RunOptions) =>
    [
      ...machine.prefix,
      ...as,
      ...gpuctlCommand(),
      "reset-gpu",
      ...args,
      "--source",
      `nvml:${stub.library}`,
      "--nvidia-smi",
      smi.path,
      ...args.includes("--audit-log") ? [] : ["--audit-log", auditLog],
      ...lastWords,
    ] as const;
  const settings = (options: RunOptions) =>
    withRuntime({ ...options, env: { [SCENARIO_VARIABLE]: stub.scenario, ...options.env } });
  return {
    stub,
    path: folder.path,
    smi,
    auditLog,
    orders: () => machine.orders(),
    persistence: () =>
      Array.from(
        readFileSync(stub.scenario, "utf8").matchAll(/^persistence (\d)$/gm),
        ([, mode = ""]) => mode,
      ),
    run: (args, options = {}) => runProgram(commandOf(args, options), settings(options)),
    start: (args, options = {}) => startProgram(commandOf(args, options), settings(options)),
    release: (name) => smi.release(name),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
