/** What is measured, against what, and what it should come to. */
import { accessSync, constants, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { runProgram, startProgram } from "../../tests/support/running_program.ts";
import { type TemporaryFolder, temporaryFolder } from "../../tests/support/temporary.ts";
import { binaryPath, compile } from "../build.ts";
import { ownProcessor, ROOT } from "../toolchain.ts";
import { setRead } from "./read.ts";
import { compileC, type Contestant, median, type Result } from "./race.ts";

/** A number that a suite is about, and where it should lie. */
export interface Finding {
  readonly what: string;
  readonly value: number;
  readonly unit: "×" | "%" | "ms" | "MiB";
  readonly atMost: number;
}

/** Commands to run against each other in one race. */
export interface Suite {
  readonly rounds: number;
  readonly contestants: readonly Contestant[];
  judge(results: ReadonlyMap<string, Result>): readonly Finding[];
}

/** What a suite needs while it runs. Its parts end with it. */
export type Stage = AsyncDisposableStack;

/** How the time of the descriptor scan grows with the processes: ten times as many should take ten times as long at most. */
export function judgeGrowth(results: ReadonlyMap<string, readonly Result[]>): readonly Finding[] {
  const wallOf = (suite: string) => {
    const runs = results.get(suite)?.find(({ name }) => name === SCANNER)?.runs;
    return runs && median(runs.map(({ wallMs }) => wallMs));
  };
  const [many, few] = [wallOf("scan"), wallOf("scan-tenth")];
  if (many === undefined || few === undefined) return [];
  return [{ what: "2,000 processes / 200 processes", value: many / few, unit: "×", atMost: 10 }];
}

/** A suite by name; `set` prepares it, or says why this machine cannot run it. */
export interface NamedSuite {
  readonly name: string;
  set(stage: Stage): Promise<Suite | string>;
}

const SCANNER = "gpuctl snapshot";
const GPUCTL = join(ROOT, binaryPath(ownProcessor()));

export const SUITES: readonly NamedSuite[] = [
  { name: "start", set: setStart },
  { name: "sim", set: setSim },
  { name: "scan", set: (stage) => setScan(stage, 2000) },
  { name: "scan-tenth", set: (stage) => setScan(stage, 200) },
  { name: "diff", set: (stage) => setWatch(stage, ["diff"]) },
  { name: "isolation", set: (stage) => setWatch(stage, ["verify-isolation", "--gpu", "0"]) },
  { name: "watch", set: setFollow },
  { name: "read", set: (stage) => setRead(stage, GPUCTL) },
  { name: "gpu", set: setGpu },
];

/** Start-up: against an empty program that is built the same way. */
function setStart(): Promise<Suite> {
  const entry = "dist/bench/empty.ts";
  compileC("scripts/bench/stopwatch.c");
  writeFileSync(join(ROOT, entry), "export {};\n");
  compile(entry, "dist/bench/empty", ownProcessor());
  return Promise.resolve({
    rounds: 40,
    contestants: [
      { name: "empty program", command: [join(ROOT, "dist/bench/empty")] },
      { name: "gpuctl --version", command: [GPUCTL, "--version"] },
    ],
    judge: (results) => [ratio(results, "gpuctl --version", "empty program", 1.3)],
  });
}

/** A snapshot of a simulated server, eight GPUs against one. */
async function setSim(stage: Stage): Promise<Suite> {
  const eight = await makeSim(stage, 8);
  const one = await makeSim(stage, 1);
  return {
    rounds: 20,
    contestants: [
      { name: "gpuctl --version", command: [GPUCTL, "--version"] },
      { name: "snapshot, 1 GPU", command: [GPUCTL, "snapshot", "--json", "--source", one] },
      { name: "snapshot, 8 GPUs", command: [GPUCTL, "snapshot", "--json", "--source", eight] },
    ],
    judge: (results) => [ratio(results, "snapshot, 8 GPUs", "snapshot, 1 GPU", 2)],
  };
}

/** The descriptor scan: against the two tools that look through every process's descriptors too. */
async function setScan(stage: Stage, processes: number): Promise<Suite | string> {
  const missing = ["fuser", "lsof"].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return `${missing.join(" and ")} not installed`;
  const source = await makeSim(stage, 8);
  const target = stage.use(temporaryFolder()).write("device", "");
  await startCrowd(stage, processes);
  const holder = stage.use(startProgram(["/bin/sh", "-c", `exec 3<'${target}'; echo ready; exec sleep 600`]));
  await holder.untilOutput(/^ready/);
  return {
    rounds: 6,
    contestants: [
      { name: SCANNER, command: [GPUCTL, "snapshot", "--json", "--source", source] },
      { name: "fuser -v", command: [findProgram("fuser") ?? "fuser", "-v", target] },
      { name: "lsof", command: [findProgram("lsof") ?? "lsof", target] },
    ],
    judge: (results) => [
      ratio(results, SCANNER, "fuser -v", 0.7),
      ratio(results, SCANNER, "lsof", 0.7),
    ],
  };
}

const JOB_SECONDS = 5;

/**
 * What watching a job on eight GPUs costs among 500 other processes: the processor time of a long one less that of one
 * that ends at once, and how much longer the job itself takes.
 */
async function setWatch(
  stage: Stage,
  words: readonly [command: string, ...options: string[]],
): Promise<Suite> {
  const source = await makeSim(stage, 8);
  await startCrowd(stage, 500);
  const job = ["/bin/sleep", String(JOB_SECONDS)] as const;
  const watched = [GPUCTL, ...words, "--source", source, "--"] as const;
  const long = `${words[0]}, the job`;
  const short = `${words[0]}, nothing`;
  return {
    rounds: 3,
    contestants: [
      { name: "the job alone", command: job },
      { name: long, command: [...watched, ...job] },
      // Over before anybody has looked, it proves nothing: 3.
      { name: short, command: [...watched, "/bin/true"], statuses: [0, 3] },
    ],
    judge(results) {
      const cpu = (name: string) => median(results.get(name)?.runs.map(({ cpuMs }) => cpuMs) ?? []);
      const spent = cpu(long) - cpu(short) - cpu("the job alone");
      const value = spent / (JOB_SECONDS * 1000) * 100;
      return [{ what: "one core, while sampling", value, unit: "%", atMost: 1 }];
    },
  };
}

const FOLLOW_SECONDS = 30;

/**
 * What `watch` costs each second, with eight GPUs, a job on each and 500 other processes: the processor time of a long one
 * less that of one that looks once. And what it needs at most after many looks, against few.
 */
async function setFollow(stage: Stage): Promise<Suite> {
  const source = await makeSim(stage, 8);
  await startCrowd(stage, 500);
  await startJobs(stage, source, 8);
  const watch = [GPUCTL, "watch", "--json", "--source", source] as const;
  const [long, short] = ["watch, 30 s", "watch, one look"];
  const [many, few] = ["watch, 3,000 looks", "watch, 1,000 looks"];
  const quickly = ["--interval", "10ms"] as const;
  return {
    rounds: 1,
    contestants: [
      { name: long, command: [...watch, "--for", `${FOLLOW_SECONDS}s`] },
      { name: short, command: [...watch, "--count", "1"] },
      { name: few, command: [...watch, ...quickly, "--count", "1000"] },
      { name: many, command: [...watch, ...quickly, "--count", "3000"] },
    ],
    judge(results) {
      const runsOf = (name: string) => results.get(name)?.runs ?? [];
      const cpu = (name: string) => median(runsOf(name).map(({ cpuMs }) => cpuMs));
      const peak = (name: string) => median(runsOf(name).map(({ peakKiB }) => peakKiB)) / 1024;
      const value = (cpu(long) - cpu(short)) / (FOLLOW_SECONDS * 1000) * 100;
      return [
        { what: "one core, while watching at 1 s", value, unit: "%", atMost: 1 },
        { what: "2,000 looks more", value: peak(many) - peak(few), unit: "MiB", atMost: 8 },
      ];
    },
  };
}

/** Ranks of one job, one a GPU. They end with the stage. */
async function startJobs(stage: Stage, source: string, ranks: number): Promise<void> {
  const words = ["sim", "hold", "--source", source, "--ranks", String(ranks), "--for", "10m"];
  await stage.use(startProgram([GPUCTL, ...words])).untilOutput(/^ready/m);
}

/** A snapshot of real GPUs: against the fewest calls that could make one, and NVIDIA's own tool. */
function setGpu(): Promise<Suite | string> {
  if (!existsSync("/dev/nvidiactl")) return Promise.resolve("no NVIDIA GPU");
  const smi = findProgram("nvidia-smi");
  if (smi === undefined) return Promise.resolve("nvidia-smi is not installed");
  const query = "--query-gpu=index,uuid,name,memory.total,memory.used";
  return Promise.resolve({
    rounds: 20,
    contestants: [
      { name: "C, fewest calls", command: [compileC("tests/hardware/nvml_floor.c")] },
      { name: "gpuctl snapshot", command: [GPUCTL, "snapshot", "--json"] },
      { name: "nvidia-smi", command: [smi] },
      { name: "nvidia-smi, CSV", command: [smi, query, "--format=csv"] },
    ],
    judge: (results) => [
      ratio(results, "gpuctl snapshot", "C, fewest calls", 1.6),
      ratio(results, "gpuctl snapshot", "nvidia-smi", 0.35),
    ],
  });
}

function ratio(results: ReadonlyMap<string, Result>, one: string, other: string, atMost: number): Finding {
  const wall = (name: string) => median(results.get(name)?.runs.map(({ wallMs }) => wallMs) ?? []);
  return { what: `${one} / ${other}`, value: wall(one) / wall(other), unit: "×", atMost };
}

async function makeSim(stage: Stage, gpus: number): Promise<string> {
  const folder: TemporaryFolder = stage.use(temporaryFolder());
  const server = join(folder.path, "server");
  const { status, stderr } = await runProgram([
    GPUCTL,
    "sim",
    "init",
    server,
    "--gpus",
    String(gpus),
    "--memory",
    "80GiB",
  ]);
  if (status !== 0) throw new Error(`Cannot make a simulated server: ${stderr}`);
  return `sim:${server}`;
}

async function startCrowd(stage: Stage, processes: number): Promise<void> {
  const command = [compileC("scripts/bench/crowd.c"), String(processes), "50"] as const;
  const crowd = stage.use(startProgram(command, { input: { isOpen: true } }));
  // Asked to, it ends its children and waits for them; killed, it would leave them to init.
  stage.defer(async () => {
    crowd.endInput();
    await crowd.ended;
  });
  await crowd.untilOutput(/^ready/);
}

function findProgram(name: string): string | undefined {
  return (process.env["PATH"] ?? "").split(":").map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // Missing or not ours to run, it is not the program.
  }
}
