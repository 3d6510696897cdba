/** Trees as they stand on a simulated server: who is who there, who still lives, and who was killed when. */
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { findVisibleStat } from "../../lib/proc/stat.ts";
import { until } from "../support/until.ts";
import { type Actor, actorsOf, formatPlan } from "./plan.ts";
import { judgeTree, type Truth } from "./truth.ts";

/** A process by its pid and when it started. */
export interface Identity {
  readonly pid: number;
  readonly startTicks: number;
}

/** Where trees are grown. */
export interface Ground {
  readonly server: string;
  readonly gpus: number;
  /** A folder with copies of forest.c, one a program. */
  readonly programs: string;
  /** A folder for reports. */
  readonly reports: string;
}

/** A tree that stands. */
export interface Planted {
  readonly tree: Actor;
  /** By the actor's id. */
  readonly identities: ReadonlyMap<number, Identity>;
  /** What must become of everybody now. */
  readonly truths: () => ReadonlyMap<number, Truth>;
  /** When somebody ceased to be one that must live; `undefined` as long as it is. */
  readonly doomedSince: (id: number) => number | undefined;
  /** Kills those who die later. */
  readonly killMarked: () => void;
}

const GROWS_WITHIN_MS = 20_000;

/** The environment of forest.c. */
export function environmentOf({ server, gpus, programs }: Ground, report: string): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    FOREST_SIM: server,
    FOREST_GPUS: String(gpus),
    FOREST_PROGRAMS: programs,
    FOREST_REPORT: report,
  };
}

/** Grows a tree and waits until all of it stands. @throws {Error} with what forest.c said, if it does not. */
export async function plant(tree: Actor, ground: Ground, serial: number): Promise<Planted> {
  const report = join(ground.reports, `tree-${serial}`);
  const errors = openSync(`${report}.err`, "w");
  const root = spawn(join(ground.programs, tree.program), ["train.py"], {
    stdio: ["ignore", "ignore", errors],
    env: { ...environmentOf(ground, report), FOREST_PLAN: formatPlan(tree), FOREST_ID: String(tree.id) },
  });
  closeSync(errors);
  root.on("error", () => {});
  const count = actorsOf(tree).length;
  const identities = await until("a tree to stand", () => {
    const found = readReport(report);
    return found.size >= count && found;
  }, { within: GROWS_WITHIN_MS }).catch((cause) => {
    for (const identity of readReport(report).values()) kill(identity);
    const words = readFileSync(`${report}.err`, "utf8");
    throw new Error(`Cannot grow ${formatPlan(tree)}: ${words}`, { cause });
  });
  return follow(tree, identities);
}

function follow(tree: Actor, identities: ReadonlyMap<number, Identity>): Planted {
  const killed = new Set<number>();
  const doomed = new Map<number, number>();
  const doom = (at: number) => {
    for (const [id, truth] of judgeTree(tree, killed)) {
      if (truth !== "must-live" && !doomed.has(id)) doomed.set(id, at);
    }
  };
  doom(0);
  return {
    tree,
    identities,
    truths: () => judgeTree(tree, killed),
    doomedSince: (id) => doomed.get(id),
    killMarked() {
      for (const { id, diesLater } of actorsOf(tree)) {
        const identity = identities.get(id);
        if (!diesLater || identity === undefined) continue;
        killed.add(id);
        // Before the kill: whoever is judged the moment after is judged rightly.
        doom(Date.now());
        kill(identity);
      }
    },
  };
}

/** Says whether anything of a process still runs. */
export function isRunning({ pid, startTicks }: Identity): boolean {
  const found = findVisibleStat(`/proc/${pid}`);
  return found?.startTicks === startTicks && !(found.state === "Z" && found.threads <= 1) &&
    found.state !== "X";
}

/** Says whether a process has gone and another one has its pid. */
export function isSucceeded({ pid, startTicks }: Identity): boolean {
  const found = findVisibleStat(`/proc/${pid}`);
  return found !== undefined && found.startTicks !== startTicks;
}

/** Kills exactly this process, if it still runs. */
export function kill(identity: Identity): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, "SIGKILL");
  } catch {
    // It has ended since, which is what was wanted.
  }
}

/** Reads what forest.c has reported so far. A line that is not whole yet is left for later. */
function readReport(path: string): Map<number, Identity> {
  if (!existsSync(path)) return new Map();
  return new Map(
    readFileSync(path, "utf8").split("\n").slice(0, -1).map((line) => {
      const [id = NaN, pid = NaN, startTicks = NaN] = line.split(" ").map(Number);
      return [id, { pid, startTicks }];
    }),
  );
}
