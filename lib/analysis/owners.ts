/** What became of the program that a worker belongs to. */
import type { ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import { findStarter, isMachineReaper, type Starter } from "./lineage.ts";

export interface OwnerFinding {
  readonly state: "alive" | "gone" | "unknown";
  /** One sentence. */
  readonly why: string;
}

/** Judges a worker's owner by who its parent is. @param owner in words: `its API server` */
export function judgeOwnerByParent(worker: Process, owner: string, scan: ProcessScan): OwnerFinding {
  const starter = findStarter(worker, scan);
  switch (starter.state) {
    case "unknown":
      return starter;
    case "gone": {
      const adopter = `PID ${starter.adoptedBy.pid} (${starter.adoptedBy.comm})`;
      return { state: "gone", why: `${owner} has ended: its parent is now ${adopter}` };
    }
    case "alive":
      return {
        state: "alive",
        why: `its parent, PID ${starter.process.pid} (${starter.process.comm}), lives`,
      };
  }
}

/** Says whether a process was taken in by one that starts no jobs itself, so that its starter has ended for sure. */
export function wasAdopted(starter: Starter, scan: ProcessScan): boolean {
  return starter.state === "gone" &&
    (starter.adoptedBy.pid === scan.reader.pid || isMachineReaper(starter.adoptedBy, scan));
}

/** A variable of a process as it was started with; `undefined` where it has none or cannot be read. */
export function variableOf(process: Process, name: string): string | undefined {
  return process.environment.ok ? process.environment.value.get(name) : undefined;
}
