/** Makes a tree that fails smaller as long as it still fails. */
import type { Actor } from "./plan.ts";

/** Each try is a round of its own and takes seconds. */
const MOST_TRIES = 25;

/** Gives the smallest tree found that still fails; `undefined` if not even this one fails when it is alone. */
export async function shrinkTree(
  tree: Actor,
  fails: (tree: Actor) => Promise<boolean>,
): Promise<Actor | undefined> {
  if (!await fails(tree)) return undefined;
  let [smallest, tries] = [tree, 1];
  for (let queue = smallerTrees(smallest); queue.length > 0 && tries < MOST_TRIES; tries++) {
    const [next, ...others] = queue;
    if (next && await fails(next)) {
      smallest = next;
      queue = smallerTrees(smallest);
    } else queue = others;
  }
  return smallest;
}

/** Trees that have a little less, the biggest cuts first. */
function smallerTrees(tree: Actor): Actor[] {
  return [
    ...tree.children.map((child) => ({
      ...tree,
      children: tree.children.filter((other) => other !== child),
    })),
    ...tree.children.flatMap((child) =>
      smallerTrees(child).map((smaller) => ({
        ...tree,
        children: tree.children.map((other) => other === child ? smaller : other),
      }))
    ),
    ...tree.habits.length > 0 ? [{ ...tree, habits: [] }] : [],
    ...tree.diesLater ? [{ ...tree, diesLater: false }] : [],
  ];
}
