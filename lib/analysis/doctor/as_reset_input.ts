/** The facts of a diagnosis as those that a reset is judged by, so that both give the same answer. */
import { type Absent, absent } from "../../core/reading.ts";
import type { ResetFacts } from "../../model/reset_facts.ts";
import { findLastResets, findOwnKills } from "../own_acts.ts";
import type { ResetInput } from "../reset_input.ts";
import type { Answer, DoctorFacts } from "./facts.ts";

/** What every GPU of a machine is judged by. */
export function asResetInput(
  { observation, snapshot, report }: Answer,
  { machine, services, acts }: Pick<DoctorFacts, "machine" | "services" | "acts">,
): ResetInput {
  return {
    observation,
    snapshot,
    facts: { ...machine.ok ? machine.value : nothingKnown(machine), services },
    gpus: report.gpus,
    smiPath: NOT_ASKED,
    flags: { evict: false, named: new Set(), protect: [], stopServices: false, isRoot: false },
    ...actsSinceBoot(acts),
  };
}

/** What gpuctl has done itself since boot, as far as that is on record. */
export function actsSinceBoot(acts: DoctorFacts["acts"]): Pick<ResetInput, "ownKills" | "lastResets"> {
  if (!acts.ok) return { ownKills: [] };
  const { text, moment } = acts.value;
  return { ownKills: findOwnKills(text, moment), lastResets: findLastResets(text, moment) };
}

const NOT_ASKED = absent("not-asked");

function nothingKnown(why: Absent): Omit<ResetFacts, "services"> {
  return {
    kernelLog: why,
    modules: why,
    drmModeset: why,
    platform: why,
    isContainer: why,
    consoleGpus: why,
    transientUnits: why,
  };
}
