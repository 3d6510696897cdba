/**
 * What must become of each process of a tree. It follows from how the tree was made, never from what /proc shows of it,
 * so that gpuctl's conclusions are held against something other than its own rules.
 */
import type { Actor } from "./plan.ts";

/** `either` where whoever looks at the machine cannot know. */
export type Truth = "dead" | "must-live" | "leftover" | "either";

interface Place {
  readonly actor: Actor;
  readonly parent: Place | undefined;
}

/** Judges everybody of a tree, given who was killed after it had grown. A leftover that lives counts as gone for its children. */
export function judgeTree(root: Actor, killed: ReadonlySet<number>): ReadonlyMap<number, Truth> {
  const truths = new Map<number, Truth>();
  const visit = (place: Place) => {
    truths.set(place.actor.id, judge(place, killed, truths));
    for (const actor of place.actor.children) visit({ actor, parent: place });
  };
  visit({ actor: root, parent: undefined });
  return truths;
}

function judge(place: Place, killed: ReadonlySet<number>, truths: ReadonlyMap<number, Truth>): Truth {
  const { actor } = place;
  if (actor.end === "die" || killed.has(actor.id)) return "dead";
  const truth = judgeMemory(place, truths);
  // Who is adopted by a process of its own tree looks as if that had started it.
  return truth === "leftover" && ancestorsOf(place).some(({ habits }) => habits.includes("subreaper"))
    ? "either"
    : truth;
}

function judgeMemory(place: Place, truths: ReadonlyMap<number, Truth>): Truth {
  const { actor } = place;
  if (actor.takes === "context") {
    return actor.end === "lose-leader" ? "leftover" : judgeOwner(place, truths);
  }
  const { owner, isLeak, line } = findContext(place);
  if (owner === undefined) {
    if (actor.takes === "watch" || actor.start === "plain") return "must-live";
    // A worker without memory is no loss where its owner is gone, and no find; what it forks looks like itself.
    return judgeOwner(place, truths) === "must-live" ? "must-live" : "either";
  }
  const fate = truths.get(owner.id);
  if (fate === "must-live") return "must-live";
  // It may have been meant to stay: nothing says what for.
  const isOnItsOwn = line.some(({ habits }) => habits.includes("setsid") || habits.includes("nohup"));
  return isLeak || isOnItsOwn || fate === "either" ? "either" : "leftover";
}

/** A process with a context of its own is a job of its own, unless it was made to work for its parent. */
function judgeOwner(place: Place, truths: ReadonlyMap<number, Truth>): Truth {
  const { actor, parent } = place;
  const fate = parent && truths.get(parent.actor.id);
  if (fate === undefined || fate === "must-live") return "must-live";
  if (actor.start === "plain") {
    // What a rank starts has the variables of a rank.
    const rank = ancestorsOf(place).find(({ start }) => start === "rank");
    return rank === undefined || truths.get(rank.id) === "must-live" ? "must-live" : "either";
  }
  // A forked process may be a worker or a daemon.
  if (actor.start === "fork" || fate === "either") return "either";
  const ignoresHangup = [actor, ...ancestorsOf(place)].some(({ habits }) => habits.includes("nohup"));
  return actor.start === "rank" && ignoresHangup ? "either" : "leftover";
}

/** Whose context a process has by inheritance, and those that have passed it on, itself included. */
function findContext(
  { actor, parent }: Place,
): { readonly owner: Actor | undefined; readonly isLeak: boolean; readonly line: readonly Actor[] } {
  if (actor.takes === "context") return { owner: actor, isLeak: false, line: [] };
  if (parent === undefined || (actor.start !== "fork" && actor.start !== "leak")) {
    return { owner: undefined, isLeak: false, line: [] };
  }
  const { owner, isLeak, line } = findContext(parent);
  return { owner, isLeak: isLeak || actor.start === "leak", line: [actor, ...line] };
}

function ancestorsOf({ parent }: Place): Actor[] {
  return parent ? [parent.actor, ...ancestorsOf(parent)] : [];
}
