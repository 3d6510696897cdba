/** What a machine is reset with: nvidia-smi, systemctl, and the end of our own helpers. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isPid } from "../core/ids.ts";
import { absent, known, mapReading, type Reading } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { ClockOrder } from "../model/clock_order.ts";
import type { LiveSource } from "../model/source_choice.ts";
import { listOwnChildren } from "../proc/own_children.ts";
import type { HelperRequest } from "../source/helper/frames.ts";
import { findSmi, type SmiPlace } from "../source/smi/locate.ts";
import type { Clock, ResetTools, Sampler } from "./ports.ts";
import { readResetFacts } from "./reset_facts.ts";
import { runTool } from "./run_tool.ts";
import { SYSTEMD_PLACES } from "./systemd.ts";

export interface ResetToolsOptions {
  /** The nvidia-smi to run in place of the one that is installed. */
  readonly smi: string | undefined;
  /** Where a user's own nvidia-smi may lie. Root's is looked for at known places only. */
  readonly searchPath: string | undefined;
  readonly clock: Clock;
  readonly openHelper: (request: HelperRequest) => Sampler;
  /** Ends the helper that was started ahead of a question which did not come. */
  readonly leaveEarly: () => void;
}

const HELPER_PAUSE = milliseconds(20);

/** Opens the tools of the machine that a source is. */
export async function openResetTools(source: LiveSource, options: ResetToolsOptions): Promise<ResetTools> {
  return {
    ...source.kind === "sim"
      ? await simulatedTools(resolve(source.directory), options.clock)
      : realTools(options),
    readFacts: () => readResetFacts(source),
    resetClocks: (order, span) => resetClocks(source, { order, span }, options),
    async closeHelpers(span) {
      const { clock, leaveEarly } = options;
      leaveEarly();
      const deadline = clock.monotonic() + span;
      while (listOwnChildren().length > 0 && clock.monotonic() < deadline) await clock.pause(HELPER_PAUSE);
      return listOwnChildren().filter(isPid);
    },
  };
}

/** A helper does it before its first look, so that the look says whether it was done. */
async function resetClocks(
  source: LiveSource,
  { order, span }: { readonly order: ClockOrder; readonly span: Milliseconds },
  { openHelper }: ResetToolsOptions,
): Promise<Reading<true>> {
  if (source.kind === "sim") return known(true);
  if (source.kind !== "nvml") return absent("not-supported", "nvidia-smi was named as the source");
  const library = source.library === undefined ? {} : { library: source.library };
  await using helper = openHelper({ source: "nvml", ...library, order });
  return mapReading(await helper.sample({ within: span, withUtilization: false }), () => true as const);
}

type Programs = Pick<ResetTools, "smiPath" | "runSmi" | "orderUnit" | "readIsActive">;
/** What `systemctl is-active` ends with for a unit that does not run (systemctl(1)). */
const NOT_ACTIVE = 3;

function realTools({ smi, searchPath }: ResetToolsOptions): Programs {
  const place = smi === undefined
    ? findSmi(searchPath === undefined ? {} : { searchPath })
    : findSmi({ places: [{ path: smi }] });
  const systemctl = SYSTEMD_PLACES.systemctl.find((path) => existsSync(path));
  return {
    smiPath: describePlace(place, smi),
    async runSmi(words, span) {
      if (place === undefined) return { kind: "not-started", message: "it is not installed" };
      const environment = place.libraries === undefined ? {} : { LD_LIBRARY_PATH: place.libraries };
      return await runTool([place.path, ...words], { span, environment });
    },
    async orderUnit(order, unit, span) {
      if (systemctl === undefined) return { kind: "not-started", message: "it is not installed" };
      return await runTool([systemctl, "--no-pager", "--no-ask-password", order, "--", unit], { span });
    },
    async readIsActive(unit, span) {
      if (systemctl === undefined) return absent("failed", "systemctl is not installed");
      const run = await runTool([systemctl, "is-active", "--", unit], { span });
      if (run.kind !== "ended") return absent(run.kind === "timed-out" ? "timed-out" : "failed", "systemctl");
      if (run.status === 0 || run.status === NOT_ACTIVE) return known(run.status === 0);
      return absent("failed", `systemctl is-active ended with ${run.signal ?? `status ${run.status}`}`);
    },
  };
}

async function simulatedTools(directory: string, clock: Clock): Promise<Programs> {
  const [{ runSimSmi }, { isSimUnitActive, orderSimUnit }] = await Promise.all([
    import("../source/sim/smi.ts"),
    import("../source/sim/units.ts"),
  ]);
  return {
    smiPath: known("nvidia-smi"),
    runSmi: (words) => runSimSmi(directory, words),
    orderUnit: (order, unit, span) => orderSimUnit(directory, { order, unit, span }, clock),
    readIsActive: (unit) => Promise.resolve(known(isSimUnitActive(directory, unit))),
  };
}

function describePlace(place: SmiPlace | undefined, given: string | undefined): Reading<string> {
  if (place !== undefined) return known(place.path);
  return absent("failed", given === undefined ? "it is not installed" : `${given} is no program`);
}
