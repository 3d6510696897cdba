/** A game of many rounds, from one seed. */
import { temporaryFolder } from "../support/temporary.ts";
import { makeDice } from "./dice.ts";
import { compileForest } from "./forest.ts";
import { type Actor, drawTree } from "./plan.ts";
import { describeTree, type Failure, playRound, type RoundResult } from "./round.ts";
import { shrinkTree } from "./shrink.ts";

export interface GameOptions {
  readonly trees: number;
  readonly seed: number;
  /** No round begins after that. */
  readonly seconds: number;
  readonly churns?: boolean;
  readonly tell: (line: string) => void;
}

export interface GameResult {
  /** One sentence each. */
  readonly failures: readonly string[];
  readonly trees: number;
  readonly processes: number;
}

const GPUS = 2;
const TREES_A_ROUND = 20;

/** Plays until the trees or the time are used up, or something has failed. */
export async function playChaos(options: GameOptions): Promise<GameResult> {
  const { trees: wanted, seed, seconds, churns = false, tell } = options;
  using folder = temporaryFolder();
  compileForest(folder.path);
  tell(`seed ${seed}`);
  const dice = makeDice(seed);
  // Apart, as it is thrown in the order of events: the trees of a seed are always the same.
  const fate = makeDice(seed + 1);
  const end = performance.now() + seconds * 1000;
  const play = (trees: readonly Actor[]) =>
    playRound({ trees, dice: fate, gpus: GPUS, programs: folder.path, churns });
  let [trees, processes] = [0, 0];
  while (trees < wanted && performance.now() < end) {
    const round = Array.from({ length: Math.min(TREES_A_ROUND, wanted - trees) }, () => drawTree(dice, GPUS));
    const result = await play(round);
    trees += round.length;
    processes += result.processes;
    tell(`${trees} trees, ${processes} processes; ${describeRound(result)}`);
    if (result.failures.length === 0) continue;
    const failures = result.failures.map(({ what, tree }) =>
      tree ? `${what}, in ${describeTree(tree)}` : what
    );
    for (const failure of failures) tell(failure);
    const smallest = await findSmallest(result.failures, play);
    if (smallest) tell(`the smallest that fails: ${describeTree(smallest)}`);
    return { failures, trees, processes };
  }
  return { failures: [], trees, processes };
}

function describeRound({ mustLive, leftovers, runs, wraps }: RoundResult): string {
  const round = wraps > 0 ? `, pids came round ${wraps} times` : "";
  return `this round ${mustLive} that must live, ${leftovers} left behind, ${runs} cleanings${round}`;
}

type Play = (trees: readonly Actor[]) => Promise<RoundResult>;

async function findSmallest(failures: readonly Failure[], play: Play): Promise<Actor | undefined> {
  const tree = failures.find((failure) => failure.tree)?.tree;
  return tree && await shrinkTree(tree, async (smaller) => (await play([smaller])).failures.length > 0);
}
