/**
 * The children that this program has started for itself, helpers and runs of nvidia-smi: none of them is a part of a job,
 * and the runtime waits for each. One list for the process, as a process has one set of children.
 */
const OWN = new Set<number>();

/** Writes a child down until it has ended and the runtime has collected its status. */
export function noteOwnChild(pid: number, ended: Promise<unknown>): void {
  OWN.add(pid);
  const forget = () => OWN.delete(pid);
  ended.then(forget, forget);
}

/** Whether a pid is such a child's. A child that nothing ends stays one. */
export function isOwnChild(pid: number): boolean {
  return OWN.has(pid);
}

/** Those of them that are not gone yet. */
export function listOwnChildren(): readonly number[] {
  return [...OWN];
}
