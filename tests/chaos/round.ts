/** One round: a simulated server, trees that grow and die on it, and gpuctl cleaning all the while. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runGpuctl } from "../support/binary.ts";
import { parseDocument, parseDocumentLines } from "../support/documents.ts";
import type { Look } from "../support/look.ts";
import type { Ended } from "../support/running_program.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { environmentOf, type Ground, isRunning, isSucceeded, kill, plant, type Planted } from "./grove.ts";
import type { Dice } from "./dice.ts";
import { type Actor, actorsOf, formatPlan } from "./plan.ts";

export interface RoundOptions {
  readonly trees: readonly Actor[];
  readonly dice: Dice;
  readonly gpus: number;
  readonly programs: string;
  /** Also starts innocent processes all the time, so that pids come round soon. */
  readonly churns: boolean;
}

/** Something that gpuctl did, or left undone, against the truth. */
export interface Failure {
  readonly what: string;
  /** Absent where it was somebody who was never planted. */
  readonly tree?: Actor;
}

export interface RoundResult {
  readonly failures: readonly Failure[];
  readonly processes: number;
  readonly mustLive: number;
  readonly leftovers: number;
  readonly runs: number;
  /** How often the pids came round, where innocent processes are started. */
  readonly wraps: number;
}

interface AuditRecord {
  readonly at: string;
  readonly event: string;
  readonly act: { readonly pid: number; readonly startTicks: number; readonly class: string };
}

const GROWING_AT_ONCE = 2;
/** Runs after the last death. One that sees somebody at work, or new, leaves it for the next. */
const MOST_LAST_RUNS = 6;
const CHURN_S = 60;
const RUN_WITHIN_MS = 60_000;
/** clean-zombies: ok, partial, finding. */
const EXPECTED_STATUSES: readonly (number | null)[] = [0, 6, 10];

/** Plays a round. Nothing of it is left when it ends. */
export async function playRound(options: RoundOptions): Promise<RoundResult> {
  using folder = temporaryFolder();
  const { gpus, programs, trees, dice } = options;
  const ground = {
    server: join(folder.path, "server"),
    reports: join(folder.path, "reports"),
    gpus,
    programs,
  };
  mkdirSync(ground.reports);
  await runExpecting(["sim", "init", ground.server, "--gpus", String(gpus), "--memory", "4TiB"], [0]);
  const planted: Planted[] = [];
  await using churn = options.churns ? startChurn(ground) : undefined;
  try {
    let isGrowing = true;
    const growing = growAll(trees, { dice, ground, planted }).finally(() => isGrowing = false);
    growing.catch(() => {}); // Told below, once no cleaning is at work.
    let runs = 0;
    for (let left = MOST_LAST_RUNS; left > 0; runs++) {
      const isLast = !isGrowing;
      await clean(ground);
      if (!isLast) continue;
      left = planted.some((each) => findSurvivors(each).length > 0) ? left - 1 : 0;
    }
    await growing;
    const churnEnd = await churn?.stop() ?? null;
    const failures = [
      ...planted.flatMap(judgeEnd),
      ...judgeAudit(ground, planted),
      ...judgeChurn(ground, churnEnd),
      ...await judgeGhosts(ground, planted),
    ];
    const truths = planted.flatMap((each) => [...each.truths().values()]);
    return {
      failures,
      processes: truths.length,
      mustLive: truths.filter((truth) => truth === "must-live").length,
      leftovers: truths.filter((truth) => truth === "leftover").length,
      runs,
      wraps: readChurn(ground).filter((line) => line === "wrapped").length,
    };
  } finally {
    for (const { identities } of planted) for (const identity of identities.values()) kill(identity);
  }
}

async function growAll(
  trees: readonly Actor[],
  { dice, ground, planted }: { readonly dice: Dice; readonly ground: Ground; readonly planted: Planted[] },
): Promise<void> {
  const queue = [...trees.entries()];
  const marked: Planted[] = [];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [serial, tree] = next;
      const stands = await plant(tree, ground, serial);
      planted.push(stands);
      marked.push(stands);
      // Some die while others still grow.
      if (dice.chance(0.5)) marked.shift()?.killMarked();
    }
  };
  await Promise.all(Array.from({ length: GROWING_AT_ONCE }, work));
  for (const each of marked) each.killMarked();
}

async function clean({ server }: Ground): Promise<void> {
  const options = ["--min-age", "0s", "--confirm", "300ms", "--grace", "2s", "--settle", "1s", "--json"];
  await runExpecting(["clean-zombies", "--yes", "--source", `sim:${server}`, ...options], EXPECTED_STATUSES);
}

async function runExpecting(args: readonly string[], statuses: readonly (number | null)[]): Promise<Ended> {
  const ended = await runGpuctl(args, { within: RUN_WITHIN_MS });
  if (statuses.includes(ended.status)) return ended;
  throw new Error(`gpuctl ${args[0]} ended with ${ended.status ?? ended.signal}: ${ended.stderr}`);
}

/** Leftovers that still run. */
function findSurvivors({ identities, truths }: Planted): number[] {
  return [...truths()].flatMap(([id, truth]) => {
    const identity = identities.get(id);
    return truth === "leftover" && identity && isRunning(identity) ? [id] : [];
  });
}

function judgeEnd(planted: Planted): Failure[] {
  const { tree, identities, truths } = planted;
  const lost = [...truths()].flatMap(([id, truth]) => {
    const identity = identities.get(id);
    return truth === "must-live" && !(identity && isRunning(identity)) ? [id] : [];
  });
  // The driver tells pids and no more: somebody else who has a dead owner's pid now passes for the owner.
  const hasNamesake = [...identities.values()].some(isSucceeded);
  return [
    ...lost.map((id) => ({ what: `${id} must live and has ended`, tree })),
    ...hasNamesake
      ? []
      : findSurvivors(planted).map((id) => ({ what: `${id} was left behind and still runs`, tree })),
  ];
}

/** Every act must name somebody who was not one that must live at that moment. */
function judgeAudit({ server }: Ground, planted: readonly Planted[]): Failure[] {
  const path = join(server, "audit.jsonl");
  if (!existsSync(path)) return [];
  const records: AuditRecord[] = parseDocumentLines(readFileSync(path, "utf8"));
  return records.filter(({ event }) => event === "intent").flatMap(({ at, act }): Failure[] => {
    const what = `an act on PID ${act.pid} (${act.class})`;
    for (const { tree, identities, doomedSince } of planted) {
      const [id] = [...identities].find(([, { pid, startTicks }]) =>
        pid === act.pid && startTicks === act.startTicks
      ) ?? [];
      if (id === undefined) continue;
      const since = doomedSince(id);
      if (since !== undefined && since <= new Date(at).getTime()) return [];
      return [{ what: `${what}, which is ${id} and must live`, tree }];
    }
    return [{ what: `${what}, which nobody has planted` }];
  });
}

/** Memory of somebody dead may stay only where somebody has it who may stay. */
async function judgeGhosts({ server }: Ground, planted: readonly Planted[]): Promise<Failure[]> {
  const { stdout } = await runExpecting(["snapshot", "--json", "--source", `sim:${server}`], [0, 3, 10]);
  const { ghosts } = parseDocument<Look>(stdout);
  return ghosts.flatMap(({ pid }) => {
    const owners = planted.filter(({ identities }) =>
      [...identities.values()].some((each) => each.pid === pid)
    );
    const [owner] = owners;
    const isExcused = owners.some(({ truths }) => [...truths().values()].includes("either"));
    return owner && !isExcused
      ? [{ what: `memory of PID ${pid}, which is dead, is still held`, tree: owner.tree }]
      : [];
  });
}

const CHURN_REPORT = "churn";

interface Churn extends AsyncDisposable {
  /** Stops it and waits until all that it started has ended. Gives the signal that ended it before, if one did. */
  stop(): Promise<string | null>;
}

function startChurn(ground: Ground): Churn {
  const child = spawn(join(ground.programs, "job"), ["churn", String(CHURN_S)], {
    stdio: ["pipe", "ignore", "ignore"],
    env: environmentOf(ground, join(ground.reports, CHURN_REPORT)),
  });
  const ended = new Promise<string | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (_status, signal) => resolve(signal));
  });
  const stop = () => {
    child.stdin.end();
    return ended;
  };
  return { stop, [Symbol.asyncDispose]: async () => void await stop() };
}

/** Those who come and go end by themselves, or gpuctl has ended them. */
function judgeChurn(ground: Ground, signal: string | null): Failure[] {
  const killed = readChurn(ground).filter((line) => line.startsWith("killed"));
  return [...killed, ...signal === null ? [] : [`killed by ${signal}`]]
    .map((line) => ({ what: `an innocent process was ${line}` }));
}

function readChurn({ reports }: Ground): string[] {
  const path = join(reports, CHURN_REPORT);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
}

/** A tree in one line, with who dies later. */
export function describeTree(tree: Actor): string {
  const later = actorsOf(tree).filter(({ diesLater }) => diesLater).map(({ id }) => id);
  return `${tree.program} ${formatPlan(tree)}${later.length > 0 ? `; later dies ${later.join(", ")}` : ""}`;
}
