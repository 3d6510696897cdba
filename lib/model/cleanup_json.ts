/** A cleaning as JSON, `gpuctl.clean-zombies/1`. */
import { encodeAct } from "./act_json.ts";
import type { Cleanup, KeptHolder } from "./cleanup.ts";
import { encodeGhost } from "./encode.ts";
import { ReasonWriter } from "./reasons.ts";
import type { CleanupJson, KeptHolderJson } from "./schema/cleanup.ts";

/** The object that scripts read. A missing value is null. */
export function encodeCleanup(cleanup: Cleanup): CleanupJson {
  const top = new ReasonWriter("the machine");
  const { takenAt, simulated, isPlan, acts, heldBytes, kept, ghosts, unreadGpus, sight, problems } = cleanup;
  const encoded: Omit<CleanupJson, "problems"> = {
    schema: "gpuctl.clean-zombies/1",
    takenAt: top.put(takenAt, "takenAt"),
    simulated,
    plan: isPlan,
    acts: acts.map(encodeAct),
    heldBytes,
    kept: kept.map(encodeKept),
    ghosts: ghosts.map((ghost, place) =>
      encodeGhost(ghost, top.within(`ghosts/${place}`, `ghost PID ${ghost.pid}`))
    ),
    unreadGpus: [...unreadGpus],
    gaps: [...sight.gaps],
    limits: [...sight.limits],
  };
  return { ...encoded, problems: top.problems(problems) };
}

function encodeKept({ pid, class: name, why, isSpared }: KeptHolder): KeptHolderJson {
  return { pid, class: name, why, spared: isSpared };
}
