/** A verdict on isolation as JSON, `gpuctl.verify-isolation/1`. */
import { mapReading } from "../core/reading.ts";
import { formatSignal } from "../core/signals.ts";
import { quoteArguments } from "../core/text.ts";
import type { RanJob } from "./diff.ts";
import { encodeOwner } from "./encode.ts";
import type { IsolatedGpu, IsolationSuspicion, IsolationVerdict, IsolationViolation } from "./isolation.ts";
import { ReasonWriter } from "./reasons.ts";
import type { IsolatedGpuJson, IsolationJson, SuspicionJson, ViolationJson } from "./schema/isolation.ts";

/** Writes a verdict as a plain object for JSON. */
export function encodeIsolation(
  isolation: IsolationVerdict,
  { simulated }: { readonly simulated: boolean },
): IsolationJson {
  const top = new ReasonWriter("the machine");
  const { verdict, threshold, looks, longestGap, gpus, violations, suspicions, notes, problems } = isolation;
  const encoded: Omit<IsolationJson, "problems"> = {
    schema: "gpuctl.verify-isolation/1",
    simulated,
    ...encodeRun(isolation.job),
    verdict,
    thresholdBytes: threshold,
    looks,
    longestGapMs: Math.round(longestGap),
    gpus: gpus.map((gpu, place) => encodeGpu(gpu, top.within(`gpus/${place}`, `GPU ${gpu.index}`))),
    violations: violations.map((violation, place) =>
      encodeViolation(violation, top.within(`violations/${place}`, `PID ${violation.pid}`))
    ),
    suspicions: suspicions.map(encodeSuspicion),
    rules: isolation.rules?.map(({ pids, ...rule }) => ({ ...rule, pids: [...pids] })) ?? null,
    notes: [...notes],
  };
  return { ...encoded, problems: top.problems(problems) };
}

function encodeRun(
  job: RanJob | undefined,
): Pick<IsolationJson, "command" | "status" | "signal" | "timedOut" | "durationMs"> {
  if (job === undefined) {
    return { command: null, status: null, signal: null, timedOut: null, durationMs: null };
  }
  const { command, end, hasTimedOut, ranFor } = job;
  return {
    command: quoteArguments(command),
    status: end.kind === "exited" ? end.status : null,
    signal: end.kind === "killed" ? formatSignal(end.signal) : null,
    timedOut: hasTimedOut,
    durationMs: Math.round(ranFor),
  };
}

function encodeGpu(
  { uuid, index, name, allowed, verdict, growth }: IsolatedGpu,
  reasons: ReasonWriter,
): IsolatedGpuJson {
  return {
    uuid,
    index,
    name: reasons.put(name, "name"),
    allowed,
    verdict,
    growthBytes: reasons.put(growth, "growthBytes"),
  };
}

function encodeViolation(violation: IsolationViolation, reasons: ReasonWriter): ViolationJson {
  const { gpu, index, pid, command, contextBytes, cause, explanation, fix, party, rule } = violation;
  return {
    ...{ gpu, index, pid, command, contextBytes, cause, explanation, fix },
    user: party ? reasons.put(party.user, "user") : null,
    owner: party ? reasons.put(mapReading(party.owner, encodeOwner), "owner") : null,
    rule: rule ? { line: rule.line, text: rule.text } : null,
  };
}

function encodeSuspicion({ gpu, index, growthBytes, message }: IsolationSuspicion): SuspicionJson {
  return { gpu, index, growthBytes, message };
}
