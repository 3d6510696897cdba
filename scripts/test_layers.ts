import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job, Outcome } from "./jobs.ts";
import { tallyReport } from "./junit.ts";
import { type Invocation, runToEnd } from "./run_command.ts";
import { DENO, ownBun, ROOT } from "./toolchain.ts";

type Runtime = "deno" | "bun";
interface Layer {
  readonly folder: string;
  /** The runtimes that run the test files themselves. */
  readonly runtimes: readonly Runtime[];
  readonly needsBinary?: boolean;
  readonly runsAlone?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The layers of tests. Code that must run under both runtimes is tested under both: the contract too, as each has an FFI
 * of its own. End-to-end tests start the program as a process of its own, so Deno runs them for either.
 */
export const LAYERS = {
  scripts: { folder: "tests/scripts", runtimes: ["deno"] },
  unit: { folder: "tests/unit", runtimes: ["deno", "bun"] },
  property: { folder: "tests/property", runtimes: ["deno", "bun"] },
  contract: { folder: "tests/contract", runtimes: ["deno", "bun"] },
  e2e: { folder: "tests/e2e", runtimes: ["deno"], needsBinary: true, runsAlone: true },
  "e2e-deno": {
    folder: "tests/e2e",
    runtimes: ["deno"],
    runsAlone: true,
    env: { GPUCTL_TEST_RUNTIME: "deno" },
  },
  hardware: { folder: "tests/hardware", runtimes: ["deno"], needsBinary: true, runsAlone: true },
  systemd: { folder: "tests/systemd", runtimes: ["deno"], needsBinary: true, runsAlone: true },
} as const satisfies Record<string, Layer>;
export type LayerName = keyof typeof LAYERS;

/** The layers that run when none is named: all that a machine without a GPU can prove about the shipped binary. */
export const DEFAULT_LAYERS: readonly LayerName[] = ["scripts", "unit", "property", "contract", "e2e"];

/** Says whether a word names a layer. */
export function isLayerName(name: string): name is LayerName {
  return Object.hasOwn(LAYERS, name);
}

/** One line for each layer that did not run, so that nobody takes it for passed. */
export function notProven(layers: readonly LayerName[]): string[] {
  const names = Object.keys(LAYERS).filter((name) => isLayerName(name) && !layers.includes(name));
  return names.map((name) => `not run: ${name} (deno task test ${name})`);
}

/** Without a file to run, a runner would look for some by itself. */
type TestFiles = readonly [string, ...string[]];

/** The jobs that run a layer, one for each runtime. */
export function layerJobs(name: LayerName): Job[] {
  const layer: Layer = LAYERS[name];
  const [first, ...others] = testFiles(layer.folder);
  return layer.runtimes.map((runtime) => ({
    name: layer.runtimes.length > 1 ? `${name} under ${runtime}` : name,
    ...layer.needsBinary && { needs: "build" },
    ...layer.runsAlone && { runsAlone: true },
    run: () => first === undefined ? nothingToRun(layer) : runFiles(layer, runtime, [first, ...others]),
  }));
}

function testFiles(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("_test.ts")).map((name) => join(folder, name)).sort();
}

function nothingToRun({ folder }: Layer): Promise<Outcome> {
  return Promise.resolve({
    passed: 0,
    failed: 1,
    skipped: [],
    notes: [`${folder} has no test file`],
    output: "",
  });
}

async function runFiles(layer: Layer, runtime: Runtime, files: TestFiles): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "gpuctl-test-"));
  try {
    const reportPath = join(folder, "report.xml");
    const runner = runtime === "deno" ? denoTest : bunTest;
    const finished = await runToEnd({ command: runner(layer, files, reportPath), env: layer.env ?? {} });
    const report = existsSync(reportPath) ? readFileSync(reportPath, "utf8") : "";
    return { ...tallyReport(report, files, finished), output: finished.output };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Types are the business of `deno check`: checking them in each run again would double its time. */
function denoTest({ runsAlone }: Layer, files: TestFiles, reportPath: string): Invocation["command"] {
  const flags = ["--allow-all", "--no-check", "--reporter=dot", `--junit-path=${reportPath}`];
  return [DENO, "test", ...flags, ...runsAlone ? ["--parallel"] : [], ...files];
}

/** Bun's own limit of 5 s a test would fail a property test on a busy machine. Without `./` it takes a path for a pattern. */
function bunTest(_layer: Layer, files: TestFiles, reportPath: string): Invocation["command"] {
  const flags = [
    "--only-failures",
    "--timeout=60000",
    "--reporter=junit",
    `--reporter-outfile=${reportPath}`,
  ];
  return [ownBun(), "test", ...flags, ...files.map((file) => `./${file}`)];
}
