/** Trees of processes as they are written down before forest.c grows them. */
import type { Dice } from "./dice.ts";

/** Names of copies of forest.c: an interpreter, a compiled job, a shell. What it runs decides how lineage reads it. */
export const PROGRAMS = ["python3.12", "job", "bash"] as const;
export type Program = typeof PROGRAMS[number];

/**
 * How a process comes to be: `fork` has all that its parent has; the others run a program anew. `spawn` is a worker of
 * multiprocessing, `rank` one of torchrun, `leak` gets its parent's descriptors.
 */
export type Start = "fork" | "plain" | "spawn" | "rank" | "leak";
export type End = "stay" | "stop" | "die" | "lose-leader";

const HABITS = ["setsid", "nohup", "stubborn", "reap", "subreaper", "zombie"] as const;
export type Habit = typeof HABITS[number];

/** One process of a tree with those that it starts. */
export interface Actor {
  readonly id: number;
  readonly program: Program;
  readonly start: Start;
  /** What it takes of its own: a context, a look at the driver, or nothing. */
  readonly takes: "context" | "watch" | undefined;
  readonly gpu: number;
  readonly habits: readonly Habit[];
  readonly end: End;
  /** Somebody kills it once the whole tree stands. */
  readonly diesLater: boolean;
  readonly children: readonly Actor[];
}

const SIZE_MIB = 512;
const DEEPEST = 3;

/** Draws a tree. */
export function drawTree(dice: Dice, gpus: number): Actor {
  let id = 0;
  const draw = (
    start: Start,
    parent: (Actor & { readonly hasMemory: boolean }) | undefined,
    depth: number,
  ): Actor => {
    const program = start === "fork" && parent
      ? parent.program
      : start === "spawn" || start === "rank"
      ? "python3.12"
      : dice.pick<Program>(["python3.12", "python3.12", "python3.12", "job", "bash"]);
    const isShell = program === "bash";
    const inherits = start === "fork" && parent?.hasMemory === true;
    const takes = inherits || start === "leak" || isShell
      ? undefined
      : dice.chance(start === "spawn" || start === "rank" ? 0.9 : 0.6)
      ? "context"
      : dice.chance(0.2)
      ? "watch"
      : undefined;
    const hasMemory = inherits || takes === "context";
    const actor = {
      id: id++,
      program,
      start,
      takes,
      gpu: dice.below(gpus),
      habits: drawHabits(dice, isShell),
      end: drawEnd(dice, depth, takes === "context"),
      diesLater: dice.chance(0.2),
      children: [],
    } as const;
    const count = depth >= DEEPEST || start === "leak" || takes === "watch"
      ? 0
      : dice.below(depth === 0 ? 4 : 3);
    const isFork = start === "rank";
    const children = Array.from(
      { length: count },
      () => draw(isFork ? "fork" : drawStart(dice, program, hasMemory), { ...actor, hasMemory }, depth + 1),
    );
    return { ...actor, children };
  };
  return draw("plain", undefined, 0);
}

function drawStart(dice: Dice, program: Program, hasMemory: boolean): Start {
  switch (program) {
    case "bash":
      return "plain";
    case "job":
      return dice.pick<Start>(["fork", "fork", "plain", ...hasMemory ? ["leak" as const] : []]);
    case "python3.12":
      return dice.pick<Start>([
        "fork",
        "fork",
        "fork",
        "spawn",
        "spawn",
        "plain",
        hasMemory ? "leak" : "rank",
      ]);
  }
}

function drawHabits(dice: Dice, isShell: boolean): Habit[] {
  const shares: Readonly<Record<Habit, number>> = {
    setsid: 0.12,
    nohup: 0.08,
    stubborn: 0.04,
    reap: 0.5,
    subreaper: isShell ? 0.2 : 0.03,
    zombie: 0.1,
  };
  return HABITS.filter((habit) => dice.chance(shares[habit]));
}

function drawEnd(dice: Dice, depth: number, isOwner: boolean): End {
  const roll = dice.below(100);
  if (roll < 6) return "stop";
  if (roll < 14 && isOwner) return "lose-leader";
  return roll < (depth === 0 ? 40 : 30) ? "die" : "stay";
}

/** Everybody of a tree, parents first. */
export function actorsOf(actor: Actor): Actor[] {
  return [actor, ...actor.children.flatMap(actorsOf)];
}

/** Writes a tree as forest.c reads it. */
export function formatPlan(actor: Actor): string {
  return formatBlock(actor).join(" ");
}

function formatBlock({ takes, gpu, habits, end, children }: Actor): string[] {
  return [
    "[",
    ...habits,
    ...takes === "context" ? ["hold", String(gpu), String(SIZE_MIB)] : takes === "watch" ? ["watch"] : [],
    ...children.flatMap((child) => [
      ...child.start === "fork"
        ? ["fork", String(child.id)]
        : ["exec", String(child.id), child.program, child.start],
      ...formatBlock(child),
    ]),
    ...end === "stay" ? [] : [end],
    "]",
  ];
}
