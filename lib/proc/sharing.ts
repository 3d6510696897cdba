/** Which processes share an open file of the driver: what was allocated through it is freed when the last of them ends. */
import type { Pid } from "../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../core/reading.ts";
import type { CompareDescriptors, ForeignDescriptor, SharingAnswer } from "../native/kcmp.ts";
import type { HeldNodes } from "./descriptors.ts";
import { nodeKey } from "./devices.ts";

/** Kinds of nodes by how much sharing one says. A client's allocations belong to its open control node. */
const TELLING = ["control", "uvm"] as const;

interface Member extends ForeignDescriptor {
  readonly pid: Pid;
}

/**
 * Finds who shares an open file with each of `pids`.
 *
 * @param held of everybody who may share one
 */
export function findSharers(
  pids: Iterable<Pid>,
  held: ReadonlyMap<Pid, HeldNodes>,
  compare: CompareDescriptors,
): ReadonlyMap<Pid, Reading<readonly Pid[]>> {
  const wanted = [...pids];
  if (wanted.length === 0) return new Map();
  // Who shares one file is in one group, so each descriptor is compared with one of each group, not with all.
  const groups = new Map<string, Member[][]>();
  const refusals = new Map<Pid, Absent>();
  for (const [pid, nodes] of held) {
    for (const { key, descriptor } of tellingDescriptors(nodes)) {
      const ofNode = groups.get(key) ?? [];
      groups.set(key, ofNode);
      const answer = join(ofNode, { pid, task: nodes.task, descriptor }, compare);
      if (answer) refusals.set(pid, answer);
    }
  }
  const all = [...groups.values()].flat();
  return new Map(wanted.map((pid) => {
    const sharers = all.filter((group) => group.some((member) => member.pid === pid)).flat()
      .map((member) => member.pid).filter((other) => other !== pid);
    return [pid, refusals.get(pid) ?? known([...new Set(sharers)])];
  }));
}

/** The descriptors that tell most of what the process takes part in; one node's stand for all. */
function tellingDescriptors({ nodes }: HeldNodes): { readonly key: string; readonly descriptor: number }[] {
  const kind = TELLING.find((kind) => nodes.some(({ node }) => node.kind === kind));
  return nodes.filter(({ node }) => kind === undefined || node.kind === kind)
    .flatMap(({ node, descriptors }) =>
      descriptors.map((descriptor) => ({ key: nodeKey(node), descriptor }))
    );
}

/** Puts a descriptor into the group that has its open file, or into one of its own. Says why if that cannot be told. */
function join(groups: Member[][], newcomer: Member, compare: CompareDescriptors): Absent | undefined {
  for (const group of groups) {
    const answer = compareWithAny(group, newcomer, compare);
    if (answer === "denied") return absent("no-permission", "kcmp(2)");
    if (answer === "unsupported") return absent("not-supported", "this kernel has no kcmp(2)");
    if (answer !== "shared") continue;
    group.push(newcomer);
    return undefined;
  }
  groups.push([newcomer]);
  return undefined;
}

/** One member stands for its group, unless it has ended since it was seen. */
function compareWithAny(
  group: readonly Member[],
  newcomer: Member,
  compare: CompareDescriptors,
): SharingAnswer {
  for (const member of group) {
    const answer = compare(member, newcomer);
    if (answer !== "gone") return answer;
  }
  return "gone";
}
